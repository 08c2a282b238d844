"""Tutorials work as they are written: each command, with what it says. Those of the README and of an example run with these."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.console import differing, said
from tests.e2e.copies import copied, renamed, said_with_mariadb, written_in
from tests.servers.mariadb import Mariadb

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_the_tutorial_of_lakes_works_as_it_is_written(instance: Any, tmp_path: Path, mariadb: Mariadb) -> None:
    changes = {"3306": str(mariadb.port), **renamed("cdc", "lakes")}
    shown = written_in("docs/lakes.md")
    assert len([each for each in shown if each.output]) == 3
    assert differing(shown, said_with_mariadb(shown, instance, copied(tmp_path, changes), changes, mariadb)) == []
