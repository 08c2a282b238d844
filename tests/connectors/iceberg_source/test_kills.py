"""A reader that is killed at any step, while the table goes on."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.connectors.iceberg_source.tables import Lake, Reader, numbered
from tests.connectors.lakes.killed import Topic

# Some delete what is not there.
pytestmark = pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "delete", "read", "read", "store", "kill"]), st.integers(1, 7)), max_size=15
)


@given(steps=STEPS, parts=st.sampled_from([1, 3]), start=st.sampled_from(["earliest", "latest"]))
@settings(max_examples=15)
@example(
    steps=[("append", 3), ("delete", 1), ("append", 2), ("read", 7), ("store", 2), ("kill", 1), ("read", 3)],
    parts=3,
    start="latest",
)
def test_killed_at_any_step_it_sends_every_row_that_was_added_once(
    steps: Sequence[tuple[str, int]], parts: int, start: str
) -> None:
    folder, added = Path(mkdtemp()), 2
    try:
        lake = Lake(folder)
        lake.write(numbered(0, 1))
        reader = Reader(lake, on_rewrite="skip", poll_interval="0s", splits=str(parts), start=start)
        topic = Topic(reader.source, reader.config, reader.share)
        for step, number in steps:
            if step == "append":
                lake.write(numbered(*range(added, added + number)))
                added += number
            elif step == "delete":
                lake.table.refresh()
                lake.table.delete(f"id = {number}")
                lake.publish()
            elif step == "read":
                topic.read(number)
            elif step == "store":
                topic.store(number)
            else:
                topic.kill()
        for _ in range(10 + added):
            topic.read(5)
        topic.kill()
        wanted = list(range(0 if start == "earliest" else 2, added))
        assert (sorted(topic.sent) if parts > 1 else topic.sent) == wanted
    finally:
        lake.catalog.engine.dispose()
        shutil.rmtree(folder)
