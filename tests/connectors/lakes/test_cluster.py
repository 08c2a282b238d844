"""Tables of lakes by a Spark cluster of a master and two workers, whose processes are killed while they write."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import psutil
import pytest

from bench.measuring.lakes import Delta, Iceberg, Lake
from bench.peers.spark_standalone import SparkStandalone, spark_profile, spark_standalone, spark_worker
from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.running import running
from rocketconnect_cli.states import State, get_state, state_name

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="mounts of its own need root"),
]
PROFILE = "two workers"
SETTINGS = {
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "true",
}
"""Each of two drivers has a process at each of two workers."""
TOPIC = "to-cluster"
SINK = {
    "topics": TOPIC,
    "value.converter": "json",
    "value.converter.schemas.enable": "false",
    "columns": "id:int64,text:string",
    "flush.rows": "1000",
    "flush.interval": "1s",
    "spark.profile": PROFILE,
}
ROWS = 12_000
LIMIT_SECONDS = 1200.0
ELSEWHERE = 'mount --make-rprivate / && mount -t tmpfs none "$0" && exec "$@"'
"""What is started within it has a folder of its own in the place of the first argument: as on another machine."""


@dataclass(frozen=True)
class Cluster:
    """An instance of RocketConnect with a Spark cluster, and the folder that all of them see."""

    spark: SparkStandalone
    api: Api
    folder: Path
    made: list[str] = field(default_factory=list)

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def add(self, *ids: int) -> None:
        with (self.folder / "rows.jsonl").open("a") as file:
            file.writelines(f'{{"id": {number}, "text": "row {number}"}}\n' for number in ids)

    def create(self, name: str, config: Mapping[str, str]) -> None:
        self.api.request("POST", "/v1/connectors", body={"name": name, "config": dict(config)})
        self.made.append(name)

    def until(self, true: Callable[[], bool], more: Iterator[int] | None = None) -> None:
        """Waits for it; meanwhile rows with these ids come, one after another."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not true():
            if time.monotonic() > deadline:
                pytest.fail(str([get_state(self.api, name) for name in self.made]))
            if more is not None:
                self.add(next(more))
            time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "lake").mkdir()
    with (
        spark_standalone(tmp_path / "spark", workers=2, cores=2) as spark,
        spark_profile(tmp_path / "profiles.toml", PROFILE, {"spark.master": spark.master, **SETTINGS}),
        running(tmp_path / "data", drain=False) as ready,
        Api(str(ready["rest"])) as api,
    ):
        yield Cluster(spark, api, tmp_path)


def writer(folder: Path, workers: Sequence[int]) -> psutil.Process:
    """The process below one of these that has a data file in a folder open: it writes it, as nobody reads there."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        for process in [child for worker in workers for child in psutil.Process(worker).children()]:
            if any(path.startswith(f"{folder}/") and path.endswith(".parquet") for path in opened(process.pid)):
                return process
        time.sleep(0.005)
    pytest.fail(f"nobody was seen while it wrote into {folder}")


def opened(process: int) -> Iterator[str]:
    with suppress(FileNotFoundError, ProcessLookupError):
        for each in Path(f"/proc/{process}/fd").iterdir():
            with suppress(FileNotFoundError):
                yield str(each.readlink())


def numbers(lake: Lake) -> list[int]:
    found: list[int] = lake.read("rows").column("id").to_pylist()
    return sorted(found)


def is_failed(cluster: Cluster, name: str) -> bool:
    return state_name(get_state(cluster.api, name)) == State.FAILED


@contextmanager
def stranger(cluster: Cluster) -> Iterator[None]:
    """A worker that has another disk where the tables are."""
    within = ["unshare", "--mount", "bash", "-c", ELSEWHERE, str(cluster.lake)]
    with spark_worker(cluster.folder / "stranger", cluster.spark.master, 2, within):
        yield


def joined(cluster: Cluster) -> list[Path]:
    """The logs of processes of the stranger that a driver gives work."""
    logs = (cluster.folder / "stranger").glob("app-*/*/stderr")
    return [path for path in logs if "Successfully registered with driver" in path.read_text(errors="replace")]


def test_rows_are_in_the_tables_once_though_workers_are_killed_and_none_are_where_a_worker_sees_no_table(cluster: Cluster) -> None:
    tables: dict[str, Lake] = {"delta": Delta(cluster.lake), "iceberg": Iceberg(cluster.lake)}
    cluster.add(*range(ROWS))
    lines = {"connector.class": "file_source", "format": "jsonlines", "topic": TOPIC}
    cluster.create("rows", {**lines, "filename": str(cluster.folder / "rows.jsonl")})
    cluster.create("delta", {**tables["delta"].sink("rows"), **SINK})
    cluster.until(lambda: tables["delta"].count("rows") > 0)
    writer(cluster.lake / "rows", cluster.spark.workers).kill()
    cluster.create("iceberg", {**tables["iceberg"].sink("rows"), **SINK})
    killed = writer(cluster.lake / "bench", cluster.spark.workers)
    os.kill(killed.ppid(), signal.SIGKILL)
    killed.kill()
    for lake in tables.values():
        cluster.until(lambda lake=lake: lake.count("rows") >= ROWS)  # type: ignore[misc]
        assert numbers(lake) == list(range(ROWS))
    assert not [name for name in tables if is_failed(cluster, name)]
    for name in tables:
        (task,) = get_state(cluster.api, name)["tasks"]
        assert "Spark Jobs" in httpx.get(task["metrics"]["sparkUi"], follow_redirects=True).text

    with stranger(cluster):
        cluster.until(lambda: len(joined(cluster)) == len(tables))
        cluster.until(lambda: all(is_failed(cluster, name) for name in tables), more=count(ROWS))
    for name, lake in tables.items():
        (task,) = get_state(cluster.api, name)["tasks"]
        assert "Spark's workers (spark.master=spark://127.0.0.1:" in task["trace"]
        assert "share, mounted at the same path" in task["trace"]
        found = numbers(lake)
        assert len(found) >= ROWS
        assert found == list(range(len(found)))
