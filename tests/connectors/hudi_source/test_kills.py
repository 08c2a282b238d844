"""A reader that is killed at any step, while the table goes on and its files are cleaned away."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.connectors.hudi_source.by_hand import ByHand
from tests.connectors.hudi_source.tables import Reader
from tests.connectors.lakes.killed import Topic

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["new", "append", "append", "update", "fail", "cluster", "clean", "read", "read", "store", "kill"]),
        st.integers(1, 7),
    ),
    max_size=25,
)


class Growing:
    """A table with one file that grows, and others. Rows have the ids of their commits, times 100 and a number.

    Args:
        root: The directory of the table.
    """

    def __init__(self, root: Path) -> None:
        self.table = ByHand(root)
        self.added: list[int] = []
        """The ids of all rows that commits have added which only add."""
        self._instant = 100
        self._rows: list[tuple[int, int]] = []
        self._before = "null"

    def _begin(self) -> int:
        self._instant += 3
        return self._instant

    def _write(self, instant: int, group: str, rows: list[tuple[int, int]], before: str, **stat: int) -> None:
        ids, times = [number for number, _ in rows], [time for _, time in rows]
        self.table.write(instant, *ids, group=group, times=times, prevCommit=before, **stat)

    def append(self, count: int) -> None:
        """Adds rows to the file that grows: it is written anew."""
        instant = self._begin()
        new = [(instant * 100 + number, instant) for number in range(count)]
        self._rows += new
        self._write(instant, "grows", self._rows, self._before, numInserts=count)
        self._before = str(instant)
        self.added += [number for number, _ in new]

    def new(self, count: int) -> None:
        """Adds a file."""
        instant = self._begin()
        new = [(instant * 100 + number, instant) for number in range(count)]
        self._write(instant, f"g{instant}", new, "null", numInserts=count)
        self.added += [number for number, _ in new]

    def update(self, count: int) -> None:
        """Changes the last rows of the file that grows, and adds one that is passed with them."""
        if not self._rows:
            return
        instant = self._begin()
        count = min(count, len(self._rows))
        self._rows = [*self._rows[:-count], *((number, instant) for number, _ in self._rows[-count:]), (instant * 100, instant)]
        self._write(instant, "grows", self._rows, self._before, numInserts=1, numUpdateWrites=count)
        self._before = str(instant)

    def fail(self, count: int) -> None:
        """Leaves a file of a writer that has died, and is rolled back."""
        instant = self._begin()
        self._write(instant, "grows", [(99 + number, instant) for number in range(count)], self._before)
        (self.table.hidden / f"{instant}.commit").unlink()

    def cluster(self, count: int) -> None:
        """Lays rows out anew, in a commit whose files have old rows."""
        instant = self._begin()
        self._write(instant, f"c{instant}", self._rows[:count], "null")
        metadata = (self.table.hidden / f"{instant}.commit").read_text()
        (self.table.hidden / f"{instant}.commit").unlink()
        (self.table.hidden / f"{instant}.replacecommit").write_text(metadata.replace('"INSERT"', '"CLUSTER"'))

    def clean(self) -> None:
        """Removes all files of the one that grows but the newest."""
        if self._before == "null":
            return
        for path in self.table.root.glob("grows_*.parquet"):
            if not path.name.endswith(f"_{self._before}.parquet"):
                path.unlink()


@given(steps=STEPS, parts=st.sampled_from([1, 3]), start=st.sampled_from(["earliest", "latest"]))
@settings(max_examples=60)
@example(
    steps=[("append", 3), ("append", 2), ("read", 7), ("store", 4), ("kill", 1), ("read", 7)],
    parts=1,
    start="latest",
)
@example(
    steps=[("append", 3), ("append", 2), ("read", 2), ("store", 1), ("kill", 1), ("append", 1), ("clean", 1), ("read", 3)],
    parts=1,
    start="latest",
)
def test_killed_at_any_step_it_sends_every_row_that_was_added_once(
    steps: Sequence[tuple[str, int]], parts: int, start: str
) -> None:
    folder = Path(mkdtemp())
    try:
        growing = Growing(folder / "table")
        growing.new(2)
        first = list(growing.added)
        changed = False
        reader = Reader(growing.table.root, on_rewrite="skip", poll_interval="0s", splits=str(parts), start=start)
        topic = Topic(reader.source, reader.config, reader.share)
        for step, number in steps:
            if step == "read":
                topic.read(number)
            elif step == "store":
                topic.store(number)
            elif step == "kill":
                topic.kill()
            elif step != "clean":
                getattr(growing, step)(number)
                changed = changed or step == "update"
            elif not changed:
                # What was updated since it was cleaned away is a gap.
                growing.clean()
        for _ in range(10 + len(growing.added)):
            topic.read(5)
        topic.kill()
        wanted = growing.added[0 if start == "earliest" else len(first) :]
        assert (sorted(topic.sent) if parts > 1 else topic.sent) == wanted
    finally:
        shutil.rmtree(folder)
