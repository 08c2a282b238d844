"""A reader that is killed at any step, while the table goes on."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

import pytest
from deltalake import DeltaTable
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.connectors.delta_source.tables import Reader, numbered, write
from tests.connectors.lakes.killed import Topic

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "compact", "delete", "checkpoint", "read", "read", "store", "kill"]), st.integers(1, 7)
    ),
    max_size=25,
)


@given(steps=STEPS, parts=st.sampled_from([1, 3]))
@settings(max_examples=25)
@example(steps=[("append", 3), ("read", 2), ("store", 1), ("kill", 1), ("compact", 1), ("read", 1), ("kill", 1)], parts=1)
@example(steps=[("append", 3), ("delete", 1), ("append", 2), ("read", 7), ("store", 2), ("kill", 1), ("read", 3)], parts=3)
@pytest.mark.parametrize("start", [pytest.param("0", marks=pytest.mark.slow), "earliest", "latest"])
def test_killed_at_any_step_it_sends_every_row_that_was_added_once(
    start: str, steps: Sequence[tuple[str, int]], parts: int
) -> None:
    folder = Path(mkdtemp())
    try:
        path, added = folder / "table", 2
        write(path, numbered(0, 1))
        reader = Reader(path, on_rewrite="skip", poll_interval="0s", start=start, splits=str(parts))
        topic = Topic(reader.source, reader.config, reader.share)
        for step, number in steps:
            if step == "append":
                write(path, numbered(*range(added, added + number)))
                added += number
            elif step == "compact":
                DeltaTable(str(path)).optimize.compact()
            elif step == "delete":
                DeltaTable(str(path)).delete(f"id % 7 = {number - 1}")
            elif step == "checkpoint":
                DeltaTable(str(path)).create_checkpoint()
            elif step == "read":
                topic.read(number)
            elif step == "store":
                topic.store(number)
            else:
                topic.kill()
        for _ in range(10 + added):
            topic.read(5)
        topic.kill()
        wanted = list(range(0 if start != "latest" else 2, added))
        assert sorted(topic.sent) == wanted
        if parts == 1:
            assert topic.sent == wanted
    finally:
        shutil.rmtree(folder)
