"""A process that copies logs into a file, as the runtime does into a topic, until it is killed: `copying FOLDER CONFIG`."""

import json
import os
import sys
import time
from pathlib import Path

from connectors.logs.log_source import LogSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.resume import read, written

_STORED_EVERY = 7
"""So many batches are in the topic before their positions are stored."""


def topic(folder: Path) -> list[tuple[str, list[int], object]]:
    """The records of the topic: partition, offset, value. What was written in part when a process died is none."""
    whole = (folder / "topic").read_bytes().rpartition(b"\n")[0] if (folder / "topic").exists() else b""
    return [tuple(json.loads(line)) for line in whole.splitlines()]


def copy(folder: Path, config: dict[str, str]) -> None:
    """Goes on from the stored positions; what the topic has already is not sent again."""
    stored = json.loads((folder / "positions").read_text()) if (folder / "positions").exists() else {}
    positions = {name: Position(tuple(offset), read(resume)) for name, (offset, resume) in stored.items()}
    last: dict[str, tuple[int, ...]] = {name: tuple(offset) for name, offset, _ in topic(folder)}
    known = sum(len(line) + 1 for line in (folder / "topic").read_bytes().rpartition(b"\n")[0].splitlines()) if last else 0
    out = os.open(folder / "topic", os.O_WRONLY | os.O_CREAT)
    os.ftruncate(out, known)
    os.lseek(out, known, os.SEEK_SET)
    source = LogSource()
    parsed = parse(source.options, config)
    task = source.open(parsed, source.plan(parsed, 1, {}).tasks[0], TaskContext(batch_records=5, stores=True))
    task.start(positions)
    batches = 0
    while True:
        given = batches_of(task.poll())
        for batch in given:
            rows = zip(batch.offsets, batch.values, strict=True)
            new = [[batch.partition, offset, value] for offset, value in rows if offset > last.get(batch.partition, ())]
            os.write(out, "".join(json.dumps(row) + "\n" for row in new).encode())
            positions[batch.partition] = Position(batch.end or batch.offsets[-1], batch.resume or {})
        batches += bool(given)
        if batches % _STORED_EVERY == 0 or not given:
            kept = {name: [at.offset, written(at.resume)] for name, at in positions.items()}
            (folder / "positions.new").write_text(json.dumps(kept))
            (folder / "positions.new").rename(folder / "positions")
            task.committed(positions)
        if not given:
            time.sleep(task.idle_seconds)


if __name__ == "__main__":
    copy(Path(sys.argv[1]), json.loads(sys.argv[2]))
