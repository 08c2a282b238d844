"""What a message, a log line or an error holds never steers the terminal of who reads it."""

import io

import pytest

from rocketconnect_cli import output
from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.output import Output, emit, show_error, show_warnings, table_of
from rocketconnect_cli.terminal import Terminal, printable

STEERING = "\x1b]0;owned\x07", "\x1b[2J", "\r", "\x9b31m", "\b", "\u202e", "\x7f", "\ud800"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    file = io.StringIO()
    for name in ("out", "err"):
        monkeypatch.setattr(output, name, Terminal(file=file, force_terminal=True, color_system=None, soft_wrap=True, width=200))
    return file


@pytest.mark.parametrize("attack", STEERING, ids=ascii)
def test_no_text_of_others_reaches_a_terminal_as_it_is(screen: io.StringIO, attack: str) -> None:
    emit(Output.TABLE, {}, lambda: [table_of(("NAME", "TRACE"), [(f"a{attack}b", f"c{attack}d")]), f"x: e{attack}f"])
    show_error(ApiError(Exit.FAILED, {"detail": f"g{attack}h", "problems": [{"key": "k", "reason": f"i{attack}j", "fix": attack}]}))
    show_warnings({"warnings": [{"key": "k", "reason": f"m{attack}n", "value": attack}]})
    shown = attack.encode("unicode_escape").decode()
    assert attack not in screen.getvalue()
    for told in (f"a{shown}b", f"c{shown}d", f"e{shown}f", f"g{shown}h", f"i{shown}j", f"m{shown}n"):
        assert told in screen.getvalue()


def test_text_is_shown_as_it_is(screen: io.StringIO) -> None:
    emit(Output.TABLE, {}, lambda: "a :smile: b")
    assert "a :smile: b" in screen.getvalue()
    assert printable("naïve 日本語 😀\tand\na line") == "naïve 日本語 😀\tand\na line"
