import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_remoting.protocol.properties import MAX_PROPERTIES_BYTES, encode_properties
from services.executor.runtime.failures import PREFIX, ErrorPolicy, Failure, RecordFailed, Stage, dead_letter

texts = st.text(max_size=200)


@given(
    texts.map(lambda text: text * 300),
    st.dictionaries(st.text("abc.", min_size=1, max_size=9), texts, max_size=4),
    st.binary(max_size=50),
)
def test_a_dead_letter_always_fits_into_a_message(message: str, origin: dict[str, str], original: bytes) -> None:
    failure = Failure(Stage.CONVERT, "Error", message, original, len(original), "00")
    body, properties = dead_letter(failure, origin, with_properties=True, body_limit=40)
    assert body == original[:40]
    # RCPOS and what the broker adds fit beside it.
    assert len(encode_properties(properties)) <= MAX_PROPERTIES_BYTES - 4_000
    assert properties[f"{PREFIX}stage"] == "convert"
    assert (f"{PREFIX}cut" in properties) == (len(original) > 40)


def test_without_properties_only_what_was_cut_off_is_told() -> None:
    failure = Failure.of_value(Stage.WRITE, ValueError("no"), "text")
    assert dead_letter(failure, {}, with_properties=False, body_limit=10) == (b"text", {})
    body, properties = dead_letter(failure, {}, with_properties=False, body_limit=2)
    assert body == b"te"
    assert properties[f"{PREFIX}length"] == "4"


def test_a_policy_without_tolerance_names_the_place_and_the_way_out() -> None:
    policy = ErrorPolicy(tolerant=False, dead_letter_topic="", properties=True, log=True, log_values=False)
    failure = Failure.of_value(Stage.CONVERT, ValueError("not text"), b"\xff")
    with pytest.raises(RecordFailed, match=r"here: convert: ValueError: not text.*errors.tolerance=all"):
        policy.check(failure, "here")


def test_content_is_logged_only_when_asked_for() -> None:
    failure = Failure.of_value(Stage.CONVERT, ValueError("bad"), {"secret": 1})
    quiet = ErrorPolicy(tolerant=True, dead_letter_topic="", properties=True, log=True, log_values=False)
    loud = ErrorPolicy(tolerant=True, dead_letter_topic="", properties=True, log=True, log_values=True)
    assert "secret" not in quiet.describe(failure, "p")
    assert "secret" in loud.describe(failure, "p")
    quiet.check(failure, "p")
