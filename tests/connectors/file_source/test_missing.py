"""What is told of files that are not there."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.errors import Problem

LATER = "Correct it, if it is not one that comes later: the connector waits for it."


def told(filename: object, **options: str) -> Sequence[Problem]:
    config = {"connector.class": "file_source", "topic": "t", "filename": str(filename), **options}
    return check_connector(config).problems


def test_a_missing_file_is_told_with_the_nearest_one_that_is_there(tmp_path: Path) -> None:
    for name in ("books-2024.log", "films.log"):
        (tmp_path / name).write_text("x\n")
    (problem,) = told(tmp_path / "book-2024.log")
    assert (problem.key, problem.value, problem.is_warning) == ("filename", str(tmp_path / "book-2024.log"), True)
    assert (problem.reason, problem.fix) == ("is not there now", f"Did you mean {tmp_path}/books-2024.log? {LATER}")
    # Where nothing like it is there, nothing is proposed.
    (problem,) = told(tmp_path / "quite-another")
    assert (problem.reason, problem.fix) == ("is not there now", LATER)
    assert told(tmp_path / "films.log") == []


def test_a_file_that_only_ends_alike_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("x\n")
    (problem,) = told(tmp_path / "nosuch.txt")
    assert "Did you mean" not in problem.fix


def test_a_file_that_is_not_waited_for_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "books.log").write_text("x\n")
    for name in ("boks.log", "boks.*"):
        (problem,) = told(tmp_path / name, follow="false")
        assert not problem.is_warning
        assert problem.fix.startswith(f"Did you mean {tmp_path}/books.log? Correct ")


def test_a_missing_directory_is_told_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "incoming" / "today").mkdir(parents=True)
    (problem,) = told(tmp_path / "incomming" / "today" / "a.log")
    assert problem.reason == f"is not there now: there is no directory {tmp_path}/incomming"
    assert problem.fix.startswith(f"Did you mean {tmp_path}/incoming/today/a.log?")


@pytest.mark.parametrize("pattern", ["*.log", "*/a.log", "**/*.log"])
def test_a_pattern_without_a_match_is_told(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "a.lg").write_text("x\n")
    (problem,) = told(tmp_path / pattern)
    assert problem.reason == "matches no file now"
    assert problem.fix.endswith(LATER)
    (tmp_path / "deep").mkdir()
    for name in ("a.log", "deep/a.log"):
        (tmp_path / name).write_text("x\n")
    assert told(tmp_path / pattern) == []


def test_where_links_lead_is_told(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (problem,) = told(tmp_path / "link" / "a.log")
    assert problem.reason == f"is not there now (it leads to {tmp_path}/real/a.log)"
    (tmp_path / "dangling.log").symlink_to(tmp_path / "real" / "nothing")
    (problem,) = told(tmp_path / "dangling.log")
    assert problem.reason.startswith("is not there now")


def test_nothing_outside_of_what_may_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "books.log").symlink_to(tmp_path / "hidden.log")
    (tmp_path / "hidden.log").write_text("x\n")
    monkeypatch.setenv("ROCKETCONNECT_READ_ROOTS", str(tmp_path / "open"))
    (problem,) = told(tmp_path / "open" / "boks.log")
    assert problem.fix == LATER
