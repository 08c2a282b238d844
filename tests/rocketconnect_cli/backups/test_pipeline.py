"""A pipeline into each kind of sink, whose stores are saved as it runs and put back: nothing is lost, and what doubles was told."""

import json
import re
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.running import running
from tests.processes import wait_until
from tests.shared_rocketmq import RocketMQ

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.rocketmq]
COMMAND = str(Path(sys.executable).with_name("rocketconnect"))
SECONDS = 240
_ROW = re.compile(r'\{"id":(\d+)\}')


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=SECONDS, check=False)


class Pipeline:
    """One source, and a sink of each kind; its targets outlive the stores."""

    def __init__(self, folder: Path) -> None:
        self._source, self._lines, self._table = folder / "in.csv", folder / "out.jsonl", folder / "out.db"
        self._source.write_text("id\n")
        self._lines.touch()
        with closing(sqlite3.connect(self._table)) as connection:
            connection.execute("CREATE TABLE t (id INTEGER)")
        topic = f"backup-{uuid.uuid4().hex[:8]}"
        rows = {"format": "csv", "columns": "id:int64"}
        self._configs = {
            "in": {"connector.class": "file_source", "topic": topic, "filename": str(self._source), **rows},
            "lines": {
                "connector.class": "file_lines",
                "engine": "native",
                "format": "jsonlines",
                "topics": topic,
                "filename": str(self._lines),
            },
            "table": {
                "connector.class": "jdbc_sink",
                "topics": topic,
                "connection.url": f"sqlite:///{self._table}",
                "insert.mode": "insert",
                "pk.mode": "none",
                "table.name.format": "t",
            },
            "print": {"connector.class": "stdout", "engine": "native", "format": "jsonlines", "topics": topic},
        }

    def create(self, rest: str) -> None:
        with Api(rest) as api:
            for name, config in self._configs.items():
                api.request("POST", "/v1/connectors", body={"name": name, "config": config})

    def feed(self, first: int, last: int) -> None:
        with self._source.open("a") as file:
            file.writelines(f"{number}\n" for number in range(first, last + 1))

    def lines(self) -> list[int]:
        return sorted(map(int, _ROW.findall(self._lines.read_text())))

    def table(self) -> list[int]:
        with closing(sqlite3.connect(self._table)) as connection:
            return sorted(number for (number,) in connection.execute("SELECT id FROM t"))

    def printed(self, data: Path) -> list[int]:
        """What an instance has printed, in all of its runs."""
        log = (data / "logs" / "executor-1.log").read_text()
        return sorted(map(int, _ROW.findall(log)))

    def arrives(self, data: Path, last: int) -> None:
        """Wait until all sinks have the last number."""
        wait_until(lambda: all(last in each for each in (self.lines(), self.table(), self.printed(data))), SECONDS)


def positions(rest: str, name: str) -> dict[str, int]:
    with Api(rest) as api:
        rows = api.pages(f"/v1/connectors/{name}/positions", "positions")
        return {row["partition"]: json.loads(row["offset"])[-1] for row in rows if not row["partition"].startswith("~")}


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return {row["connector"]: row for row in json.loads(done.stdout)["connectors"]}


def test_stores_are_put_back_into_an_empty_folder_and_over_themselves(tmp_path: Path, rocketmq: RocketMQ) -> None:
    pipeline, old, new, file = Pipeline(tmp_path), tmp_path / "old", tmp_path / "new", tmp_path / "stores.zip"
    options = ("--namesrv", rocketmq.name_server)
    with running(old, *options) as ready:
        pipeline.feed(1, 100)
        pipeline.create(ready["rest"])
        pipeline.arrives(old, 100)
        # Positions follow what was written.
        wait_until(lambda: sum(positions(ready["rest"], "print").values()) == 100, SECONDS)
        assert command("backup", file, "--data", old).returncode == 0
        refused = command("restore", file, "--data", old, "--yes")
        assert (refused.returncode, "`rocketconnect up` runs" in refused.stderr) == (4, True)
        pipeline.feed(101, 150)
        pipeline.arrives(old, 150)
        wait_until(lambda: sum(positions(ready["rest"], "print").values()) == 150, SECONDS)
    assert pipeline.printed(old) == [*range(1, 151)]

    fates = told(command("restore", file, "--data", new, "-o", "json"))
    assert {name: (fate["delivery"], fate["doubles"]) for name, fate in fates.items()} == {
        "in": ("EXACTLY_ONCE", True),
        "lines": ("EXACTLY_ONCE", False),
        "table": ("EXACTLY_ONCE", False),
        "print": ("AT_LEAST_ONCE", True),
    }
    assert sum(json.loads(offset)[-1] for offset in fates["print"]["places"].values()) == 100
    with running(new, *options):
        pipeline.feed(151, 200)
        pipeline.arrives(new, 200)
    # Doubled is what was told, and no more.
    assert (pipeline.lines(), pipeline.table()) == ([*range(1, 201)], [*range(1, 201)])
    assert pipeline.printed(new) == [*range(101, 201)]

    fates = told(command("restore", file, "--data", old, "--yes", "-o", "json"))
    assert "what it has written since (50 messages) is there twice" in fates["print"]["text"]
    with running(old, *options):
        pipeline.feed(201, 250)
        pipeline.arrives(old, 250)
    assert (pipeline.lines(), pipeline.table()) == ([*range(1, 251)], [*range(1, 251)])
    assert pipeline.printed(old) == sorted([*range(1, 151), *range(101, 251)])
