"""Stores as services leave them after their first start.

A service that finds no tables starts a process that makes them, and that costs a second of a processor each time. Tests that are
not about that first start put the tables there before.
"""

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rocketconnect_kit.store import database

SERVICES = ("cluster", "config", "position", "state")


def prepare(folder: Path) -> None:
    """Put the stores of all services into a data directory, which is made; those that are there stay as they are."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for service, content in _made().items():
        path = folder / f"{service}.db"
        if not path.exists():
            path.write_bytes(content)


@cache
def _made() -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return {service: _store(Path(folder) / f"{service}.db", service) for service in SERVICES}


def _store(path: Path, service: str) -> bytes:
    engine = database.engine(f"sqlite:///{path}")
    try:
        database.migrate(engine, service)
    finally:
        # The last session takes what is in the log over into the file.
        engine.dispose()
    assert not path.with_suffix(".db-wal").exists(), "what is in the log would be missing in the copy"
    return path.read_bytes()
