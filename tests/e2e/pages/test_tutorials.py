"""Tutorials work as they are written: each command, with what it says. Those of the README and of an example run with these."""

import sys
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.instance.running import running
from tests import stores
from tests.e2e.console import differing, said
from tests.e2e.pages.copies import copied, renamed, said_with_mariadb, written_in
from tests.servers.mariadb import Mariadb
from tests.services.executor.wheels import Environment

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_the_tutorial_of_lakes_works_as_it_is_written(instance: Any, tmp_path: Path, mariadb: Mariadb) -> None:
    changes = {"3306": str(mariadb.port), **renamed("cdc", "lakes")}
    shown = written_in("docs/lakes.md")
    assert len([each for each in shown if each.output]) == 3
    assert differing(shown, said_with_mariadb(shown, instance, copied(tmp_path, changes), changes, mariadb)) == []


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of an environment of its own, into which packages are installed; what this process starts runs there, too."""
    python = Path(Environment(tmp_path).python)
    command = python.with_name("rocketconnect")
    command.write_text(f"#!{python}\nfrom rocketconnect_cli.main import main\n\nmain()\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    return python.parent


def test_the_tutorial_of_a_first_connector_works_as_it_is_written(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Folders of this run stay: pytest keeps those of the last three, and the page runs it four times.
    monkeypatch.setenv("PYTEST_DEBUG_TEMPROOT", str(tmp_path))
    shown = written_in("docs/first-connector.md")
    assert len([each for each in shown if each.output]) == 6
    stores.prepare(tmp_path / "data")
    # The package is built without what pip would download for that.
    offline = {"pip install -q": "pip install -q --no-index --no-deps --no-build-isolation"}
    with running(tmp_path / "data") as ready:
        found = said(shown, str(ready["rest"]), tmp_path, {".venv/bin/": f"{own}/", **offline})
    assert differing(shown, found) == []
