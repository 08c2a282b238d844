"""A reader that is killed at any step, while the table goes on."""

import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from connectors.hive_source import HiveSource
from tests.connectors.hive_sink.table import Table
from tests.connectors.hive_source.tables import HandMade, config_of, options
from tests.connectors.lakes.killed import Topic
from tests.servers.hive_metastore import HiveMetastore

pytestmark = pytest.mark.spark
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["part", "file", "file", "drop", "overwrite", "read", "read", "read", "store", "store", "kill"]),
        st.integers(1, 7),
    ),
    max_size=25,
)
_LOOKS = 6
"""Behind so many that give nothing all is read, and what was removed is settled."""
_names = count()


class Growing:
    """A table that gets partitions and files.

    Args:
        table: Which is not there yet.
    """

    def __init__(self, table: Table) -> None:
        self._made = HandMade(table)
        self.added: list[int] = []
        """The ids of all rows that were added, and not written in the place of others."""
        self._parts: list[str] = []
        self._days = count(1)
        self._files = count()
        self._folder = table.folder
        self.part(2)

    def part(self, number: int) -> None:
        """Adds a partition with a file."""
        self._parts.append(self._made.part(f"2026-07-{next(self._days):02}"))
        self._write(self._parts[-1], number)

    def file(self, number: int) -> None:
        """Adds a file to a partition."""
        self._write(self._parts[number % len(self._parts)], number)

    def drop(self, number: int) -> None:
        """Forgets a partition, whose files stay, unless it is the last one."""
        if len(self._parts) > 1:
            self._made.drop(self._parts.pop(number % len(self._parts)))

    def overwrite(self, number: int) -> None:
        """Puts other files in the place of those of a partition."""
        folder = self._folder / self._parts[number % len(self._parts)]
        for path in folder.iterdir():
            path.unlink()
        first = 1_000_000 + 10 * next(self._files)
        self._made.write(folder.name, f"new{first}", *range(first, first + number))

    def _write(self, part: str, number: int) -> None:
        first = 10 * next(self._files)
        new = list(range(first, first + number))
        self._made.write(part, f"f{first:05}", *new)
        self.added += new


@given(steps=STEPS, policy=st.sampled_from(["skip", "read"]))
# Those below are the hard ones; `make test-all` looks for more.
@settings(max_examples=10, phases=[*Phase] if settings.get_current_profile_name() == "search" else [Phase.explicit])
@example(steps=[("file", 7), ("read", 3), ("read", 3), ("store", 1), ("kill", 1), ("file", 2), ("read", 7)], policy="skip")
@example(steps=[("part", 3), ("overwrite", 2), ("kill", 1), ("file", 2), ("file", 3), ("overwrite", 3)], policy="skip")
@example(steps=[("part", 3), ("overwrite", 2), ("kill", 1), ("file", 2), ("overwrite", 3)], policy="read")
def test_killed_at_any_step_it_sends_every_row_once(
    metastore: HiveMetastore, steps: Sequence[tuple[str, int]], policy: str
) -> None:
    folder = Path(mkdtemp())
    try:
        table = Table(metastore.uri, f"killed{next(_names)}", folder / "table")
        growing = Growing(table)
        topic = Topic(HiveSource(), config_of(options(table, on_rewrite=policy)), {"share": "0/1"})

        def drain() -> None:
            looks = 0
            while looks < _LOOKS:
                looks = 0 if topic.read(5) else looks + 1

        for step, number in steps:
            if step == "read":
                topic.read(number)
            elif step == "store":
                topic.store(number)
            elif step == "kill":
                topic.kill()
            elif step in ("drop", "overwrite"):
                # What was not read before it went is nobody's any more.
                drain()
                topic.store(1_000_000)
                getattr(growing, step)(number)
                drain()
                topic.store(1_000_000)
            else:
                getattr(growing, step)(number)
        drain()
        topic.kill()
        sent = [number for number in topic.sent if number < 1_000_000]
        assert sorted(sent) == growing.added
        overwritten = [number for number in topic.sent if number >= 1_000_000]
        assert len(set(overwritten)) == len(overwritten)
        assert bool(overwritten) == (policy == "read" and any(step == "overwrite" for step, _ in steps))
    finally:
        shutil.rmtree(folder)
