import pytest

from services.gateway.compat.posted import configuration
from services.gateway.problems import RequestRejected


def test_numbers_and_truth_values_are_taken_as_the_text_that_was_sent() -> None:
    sent = b'{"max.tasks": 2, "rate": 1.0, "big": 1e3, "follow": true, "deep": false, "name": "x"}'
    assert configuration(sent) == {"max.tasks": "2", "rate": "1.0", "big": "1e3", "follow": "true", "deep": "false", "name": "x"}


def test_every_value_that_is_no_text_is_named_and_none_is_repeated() -> None:
    with pytest.raises(RequestRejected) as refused:
        configuration(b'{"a": null, "c": ["hunter2"], "d": "fine"}')
    assert [problem.field for problem in refused.value.problem.problems] == ["a", "c"]
    assert all(word in refused.value.problem.detail for word in ("a: is null", "c: is an array"))
    assert "hunter2" not in refused.value.problem.detail


def test_an_object_is_taken_as_its_json() -> None:
    assert configuration(b'{"index": {"orders": {"id": 1, "name": "x"}}}') == {"index": '{"orders": {"id": "1", "name": "x"}}'}


@pytest.mark.parametrize("text", [b"", b" \n"])
def test_missing_configuration_is_refused_with_the_original_words(text: bytes) -> None:
    with pytest.raises(RequestRejected, match="Failed! query param 'config' is required "):
        configuration(text)


@pytest.mark.parametrize("text", [b"{", b"hello", b"[1,2]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000])
def test_malformed_configuration_is_refused_with_the_original_words(text: bytes) -> None:
    with pytest.raises(RequestRejected, match="Failed! query param 'config' is malformed"):
        configuration(text)
