"""An instance of RocketConnect to measure: everything on this machine, and pipelines of files on it."""

import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.measuring.costs import cores_used
from bench.workload import BenchFailed
from rocketconnect_cli.api import Access, Api, connector_path
from rocketconnect_cli.instance.running import running
from rocketconnect_cli.states import DONE, wait_for

ENGINES = {"native": "file_lines", "spark": "file_sink"}
"""The engines with the sink of each that writes lines to a file."""
TOPIC_TYPES = ("normal", "batch")
LIMIT_SECONDS = 300.0
QUIET_CORES = 0.3
"""What an instance at rest uses at most, RocketMQ and Spark included."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A running instance with its own folder.

    Attributes:
        api: Its REST API.
        folder: For files; removed at the end.
        root: The process of `rocketconnect up`, below which everything runs.
        name_server: Of its RocketMQ, host:port.
        started_seconds: How long it took until everything answered.
    """

    api: Api
    folder: Path
    root: int
    name_server: str
    started_seconds: float

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Creates a connector."""
        self.api.request("POST", "/v1/connectors", body={"name": name, "config": dict(config)})

    def create_running(self, name: str, config: Mapping[str, str]) -> None:
        """Creates a connector and waits until it runs."""
        self.create(name, config)
        wait_for(self.api, name, DONE, LIMIT_SECONDS)

    def delete(self, *names: str) -> None:
        """Deletes connectors."""
        for name in names:
            self.api.request("DELETE", connector_path(name))

    def settle(self, cores: float = QUIET_CORES) -> None:
        """Waits until what a start leaves to do (Spark compiles, the broker deletes a topic) is done: so few cores are used.

        Raises:
            BenchFailed: it does not come to rest.
        """
        settle([self.root], cores)

    def states(self) -> str:
        """What every connector does, for a message of failure."""
        return str(
            [(state["connector"], state.get("state"), state.get("trace")) for state in self.api.pages("/v1/states", "states")]
        )


@contextmanager
def instance(*options: str, access: Access | None = None) -> Iterator[Instance]:
    """Everything, on free ports, in a temporary folder that is removed afterwards; with these options of `rocketconnect up`.

    `access`: how it lets us in; None: it asks nobody.
    """
    with folder() as place:
        begin = time.monotonic()
        with running(place / "data", *options, drain=False) as ready, Api(str(ready["rest"]), access) as api:
            root = psutil.Process(next(iter(ready["pids"].values()))).ppid()
            yield Instance(api, place, root, str(ready["nameServer"]), time.monotonic() - begin)


@contextmanager
def environment(told: Mapping[str, str]) -> Iterator[None]:
    """What is started within it has these variables."""
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder."""
    path = Path(tempfile.mkdtemp(prefix="rocketconnect-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def source_config(file: Path | str, topic: str, topic_type: str = "normal", queues: int = 1) -> dict[str, str]:
    """Lines of a file, or of the files that match, to a topic."""
    config = {"connector.class": "file_source", "filename": str(file), "topic": topic, "topic.queues": str(queues)}
    return config | _typed(topic_type)


def sink_config(engine: str, file: Path, topic: str, topic_type: str = "normal", queues: int = 1) -> dict[str, str]:
    """A topic to lines of one file."""
    config = {"connector.class": ENGINES[engine], "engine": engine, "topics": topic, "filename": str(file)}
    return config | {"topic.queues": str(queues)} | _typed(topic_type)


def _typed(topic_type: str) -> dict[str, str]:
    return {} if topic_type == "normal" else {"topic.type": topic_type}


def settle(roots: Collection[int], cores: float = QUIET_CORES) -> None:
    """Waits until these processes and all below them use so few cores.

    Raises:
        BenchFailed: they do not come to rest.
    """
    deadline = time.monotonic() + LIMIT_SECONDS
    while (used := cores_used(roots)) >= cores:
        if time.monotonic() > deadline:
            msg = f"what is measured did not come to rest within {LIMIT_SECONDS:g} s: it uses {used:.1f} cores"
            raise BenchFailed(msg)
