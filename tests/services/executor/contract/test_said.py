"""What is said in a host goes through a pipe as a line, whatever it has in it."""

from hypothesis import given
from hypothesis import strategies as st

from services.executor.contract.said import Said, decode, encode

TEXTS = st.text(max_size=50)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_what_is_said_is_one_line_and_comes_out_as_it_was(logger: str, message: str, thread: str, trace: str) -> None:
    said = Said(30, logger, message, thread, trace)
    line = encode(said)
    assert "\n" not in line
    assert decode(line) == said


def test_of_what_is_long_the_beginning_of_the_message_and_the_end_of_the_traceback_are_said() -> None:
    line = encode(Said(30, "a" * 9000, "b" + "好" * 9000, "c" * 9000, "\n" * 9000 + "d"))
    assert len(line.encode()) < 4096
    found = decode(line)
    assert found is not None
    assert found.message.startswith("b")
    assert found.exception.endswith("d")


def test_other_lines_are_nothing_that_was_said() -> None:
    assert [decode(line) for line in ("", "text", "\x1e", "\x1e{}", '\x1e{"level": "x"}', '{"level": 1}')] == [None] * 6
