"""A pipeline of files, moved by containers, and what came of it."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.deploy.containers.engine import Engine

Run = Callable[..., str]
"""Runs the command `rocketconnect` with these words, as a user does; returns what it said."""


class Pipeline:
    """Rows of a file through a topic into another file.

    Args:
        engine: what runs the containers.
        run: how a user asks.
        container: where the files are.
        folder: the folder of the files in it.
        rows: how many there are.
    """

    def __init__(self, engine: Engine, run: Run, container: str, folder: str, rows: int) -> None:
        self._engine = engine
        self._run = run
        self._container = container
        self._folder = folder
        self._rows = rows

    def start(self, here: Path) -> None:
        """Put the rows there and create both connectors."""
        rows = here / "rows.csv"
        rows.write_text("id,name\n" + "".join(f"{number},name {number}\n" for number in range(self._rows)))
        self._engine.podman("cp", str(rows), f"{self._container}:{self._folder}/rows.csv")
        source = (
            "connector.class=file_source",
            "topic=rows",
            f"filename={self._folder}/rows.csv",
            "format=csv",
            "columns=id:int64,name",
        )
        sink = ("connector.class=file_sink", "topics=rows", f"filename={self._folder}/copy.jsonl", "format=jsonlines")
        for name, settings in (("rows-in", source), ("rows-out", sink)):
            self._run("connector", "create", name, *(word for setting in settings for word in ("--set", setting)))

    def is_under_way(self) -> bool:
        """Whether not all rows have come out yet."""
        said = json.loads(self._run("connector", "status", "rows-out", "-o", "json"))
        return sum(int(task.get("metrics", {}).get("recordsOut", 0)) for task in said["tasks"]) < self._rows

    def assert_each_row_is_there_once(self, here: Path, seconds: float) -> None:
        """Wait until all is done, then compare."""
        self._run("connector", "wait", "rows-in", "rows-out", "--state", "idle", "--timeout", f"{seconds:g}s", seconds=seconds + 60)
        self._engine.podman("cp", f"{self._container}:{self._folder}/copy.jsonl", str(here / "copy.jsonl"))
        copied = sorted(json.loads(line)["id"] for line in (here / "copy.jsonl").read_text().splitlines())
        assert copied == list(range(self._rows))
