import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.letters.dead_letters import PREFIX
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.stages import Stage
from rocketmq_remoting.protocol.properties import MAX_PROPERTIES_BYTES, encode_properties
from services.executor.runtime.errors.dead_letter import dead_letter
from services.executor.runtime.errors.failure import Failure, beyond, place_of
from services.executor.runtime.errors.policy import ErrorPolicy, RecordFailed
from services.executor.secrets.resolving import remember

texts = st.text(max_size=200)


@given(
    texts.map(lambda text: text * 300),
    st.dictionaries(st.text("abc.", min_size=1, max_size=9), texts, max_size=4),
    st.binary(max_size=50),
    st.dictionaries(st.text("def.", min_size=1, max_size=9), st.integers(1, 30_000).map("p".__mul__), max_size=4),
)
def test_a_dead_letter_always_fits_into_a_message(
    message: str, origin: dict[str, str], original: bytes, own: dict[str, str]
) -> None:
    failure = Failure(Stage.CONVERT, "Error", message, original, len(original), "00", "a.Class", message)
    body, properties = dead_letter(failure, origin, with_properties=True, body_limit=40, original=own)
    assert body == original[:40]
    # RCPOS and what the broker adds fit beside it.
    assert len(encode_properties(properties)) <= MAX_PROPERTIES_BYTES - 4_000
    assert properties[f"{PREFIX}stage"] == "CONVERTER"
    assert (f"{PREFIX}cut" in properties) == (len(original) > 40)


def test_without_properties_only_what_was_cut_off_is_told() -> None:
    failure = Failure.of_value(Stage.WRITE, ValueError("no"), "text", object)
    assert dead_letter(failure, {}, with_properties=False, body_limit=10) == (b"text", {})
    body, properties = dead_letter(failure, {}, with_properties=False, body_limit=2)
    assert body == b"te"
    assert properties[f"{PREFIX}length"] == "4"


def fail(depth: int) -> None:
    if depth:
        fail(depth - 1)
    [].pop()


def raised(depth: int = 0) -> Exception:
    try:
        fail(depth)
    except IndexError as error:
        try:
            msg = "outer"
            raise ValueError(msg) from error
        except ValueError as outer:
            return outer
    raise AssertionError


def properties_of(failure: Failure) -> dict[str, str]:
    _, properties = dead_letter(failure, {}, with_properties=True, body_limit=10)
    return {name.removeprefix(PREFIX): value for name, value in properties.items()}


@pytest.mark.parametrize(
    ("stage", "original"),
    [
        (Stage.POLL, "TASK_POLL"),
        (Stage.TRANSFORM, "TRANSFORMATION"),
        (Stage.CONVERT, "CONVERTER"),
        (Stage.SEND, "ROCKETMQ_PRODUCE"),
        (Stage.WRITE, "TASK_PUT"),
    ],
)
def test_stages_and_classes_are_named_as_rocketmq_connect_names_them(stage: Stage, original: str) -> None:
    said = properties_of(Failure.of_value(stage, ValueError("no"), "text", ErrorPolicy))
    assert (said["stage"], said["class.name"]) == (original, "services.executor.runtime.errors.policy.ErrorPolicy")
    assert (said["exception.class.name"], said["exception.message"]) == ("ValueError", "no")


def test_the_trace_begins_where_the_error_was_raised_and_names_its_cause() -> None:
    lines = properties_of(Failure.of_value(Stage.CONVERT, raised(), "text", object))["exception.stacktrace"].splitlines()
    assert lines[0] == "builtins.ValueError: outer"
    assert lines[1].startswith('  File "')
    assert lines[1].endswith(", in raised")
    assert lines[2] == "caused by builtins.IndexError: pop from empty list"
    assert [line.rpartition(" ")[2] for line in lines[3:]] == ["fail", "raised"]


def test_a_long_trace_and_a_long_message_leave_room_for_the_rest() -> None:
    said = properties_of(Failure.of_value(Stage.CONVERT, raised(500), "t" * 100, object))
    assert len(said["exception.stacktrace"]) == 8_000
    long = properties_of(Failure.of_value(Stage.CONVERT, ValueError("x" * 40_000), "t" * 100, object))
    assert long["cut"] == "the first 10 of 100 bytes"
    assert len(long["exception.message"]) > 20_000


def test_no_secret_is_in_a_dead_letter() -> None:
    remember("tr0ub4dor")
    error = RuntimeError("can't log in with tr0ub4dor")
    assert "tr0ub4dor" not in str(properties_of(Failure.of_value(Stage.WRITE, error, "text", object)))


def test_a_policy_without_tolerance_names_the_place_and_the_way_out() -> None:
    policy = ErrorPolicy(tolerant=False, dead_letter_topic="", properties=True, log=True, log_values=False)
    failure = Failure.of_value(Stage.CONVERT, ValueError("not text"), b"\xff", object)
    with pytest.raises(RecordFailed, match=r"here: convert: ValueError: not text.*errors.tolerance=all"):
        policy.check(failure, "here")


@pytest.mark.parametrize(
    ("partition", "offset", "written"),
    [("t/b/0", (18,), "t/b/0=18"), ("/a b.txt", (7,), "'/a b.txt=7'"), ("p", (1, 2), "'p=[1,2]'")],
)
def test_a_policy_without_tolerance_names_the_command_that_leaves_out_this_record_alone(
    partition: str, offset: tuple[int, ...], written: str
) -> None:
    policy = ErrorPolicy(tolerant=False, dead_letter_topic="", properties=True, log=True, log_values=False, connector="out")
    failure = Failure.of_value(Stage.CONVERT, ValueError("not text"), b"\xff", object)
    with pytest.raises(RecordFailed) as failed:
        policy.check(failure, "here", beyond(partition, offset))
    assert str(failed.value).endswith(f". To leave out this message alone: `rocketconnect position set out {written} --restart`")


def said_of_source(dead_letters: str = "", advice: str = "", skipping: str = "") -> str:
    policy = ErrorPolicy(
        tolerant=False, dead_letter_topic=dead_letters, properties=True, log=True, log_values=False, connector="in"
    )
    failure = Failure.of_rejected(Rejected("Bad", "it is bad", b"x", 1, "00", advice=advice), object)
    with pytest.raises(RecordFailed) as failed:
        policy.check_source(failure, "here", skipping)
    return str(failed.value)


def test_a_source_that_a_bad_record_ends_tells_all_ways_on_once_its_own_first() -> None:
    said = said_of_source(advice="Turn it off and on.", skipping=beyond("p", (7,)))
    assert said.startswith("here: poll: Bad: it is bad. Ways on: (1) Turn it off and on. (2) To leave out all bad records: ")
    settings = "--set errors.tolerance=all --set errors.deadletterqueue.topic.name=in-dlq"
    assert f"`rocketconnect connector update in {settings}`; the task then goes on" in said
    assert "each of them is kept in in-dlq with its reason: `rocketconnect dlq list in`. (3) " in said
    assert said.endswith("(3) To leave out this record alone: `rocketconnect position set in p=7 --restart`")


def test_a_dead_letter_topic_that_is_named_already_is_kept_and_what_cannot_be_left_out_alone_is_not_offered() -> None:
    said = said_of_source(dead_letters="dead")
    assert "--set errors.tolerance=all`; the task then goes on, and each of them is kept in dead with" in said
    assert "(1) To correct it, correct the record where it is read" in said
    assert "(3)" not in said


def test_a_record_that_is_left_out_says_where_it_stood_and_where_it_goes() -> None:
    failure = Failure.of_value(Stage.CONVERT, ValueError("bad"), "x", object)
    kept = ErrorPolicy(tolerant=True, dead_letter_topic="dead", properties=True, log=True, log_values=False)
    dropped = ErrorPolicy(tolerant=True, dead_letter_topic="", properties=True, log=True, log_values=False)
    began = "source partition p, record before offset 9.1: convert: ValueError: bad; "
    assert kept.describe(failure, place_of("p", (9, 1))) == f"{began}it goes to the topic dead"
    assert dropped.describe(failure, place_of("p", (9, 1))) == f"{began}it is dropped"


def test_content_is_logged_only_when_asked_for() -> None:
    failure = Failure.of_value(Stage.CONVERT, ValueError("bad"), {"secret": 1}, object)
    quiet = ErrorPolicy(tolerant=True, dead_letter_topic="", properties=True, log=True, log_values=False)
    loud = ErrorPolicy(tolerant=True, dead_letter_topic="", properties=True, log=True, log_values=True)
    assert "secret" not in quiet.describe(failure, "p")
    assert "secret" in loud.describe(failure, "p")
    quiet.check(failure, "p")


def test_what_brokers_and_tasks_noted_on_a_message_does_not_stay_with_it_as_a_dead_letter() -> None:
    failure = Failure.of_value(Stage.WRITE, ValueError("no"), "text", object)
    noted = {"UNIQ_KEY": "1", "RCPOS": "u|5|p|2|1", "MSG_REGION": "r", f"{PREFIX}stage": "TASK_PUT"}
    own = {"KEYS": "k", "TAGS": "t", "ORDER": "upper", "lower": "case"}
    assert dead_letter(failure, {}, with_properties=False, body_limit=10, original={**noted, **own})[1] == own


def test_properties_that_leave_no_room_for_the_reason_are_named() -> None:
    failure = Failure.of_value(Stage.WRITE, ValueError("no"), "text", object)
    own = {"huge": "h" * 30_000, "KEYS": "k"}
    _, properties = dead_letter(failure, {}, with_properties=True, body_limit=10, original=own)
    assert (properties["KEYS"], properties[f"{PREFIX}properties.left.out"]) == ("k", "huge")
    assert properties[f"{PREFIX}exception.message"] == "no"
