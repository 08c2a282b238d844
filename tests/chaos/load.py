"""The pipelines under load: lines fed at a steady rate, so that something is always on its way."""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocketconnect_cli.api import Api, ApiError, Exit
from tests.chaos.oracle import Line, Verdict
from tests.chaos.sinks import INTO_FILES, LAKES, Sink, sink_of

TICK_SECONDS = 0.2
"""In bursts: right after one, all of it is on its way."""
FILES = 3
KEYS = 20


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One source and its sinks.

    Attributes:
        topic: Between them.
        source: Options of the source.
        partitions: In which order holds; each tick feeds to all of them.
        as_json: How lines are written.
        sinks: By name: the options of each, which writes a file, or one of LAKES.
    """

    topic: str
    source: Mapping[str, str]
    partitions: tuple[str, ...]
    as_json: bool
    sinks: Mapping[str, Mapping[str, str] | str]

    def file_of(self, folder: Path, partition: str) -> Path:
        """Where lines of a partition are fed."""
        return folder / ("keyed.jsonl" if self.as_json else f"{partition}.txt")


def pipelines(folder: Path, engines: Iterable[str]) -> list[Pipeline]:
    """Unkeyed lines of several files (order holds for each file), and keyed ones of one file (order holds for each key).

    Args:
        folder: Where the sources' files are.
        engines: "native" and "spark": a sink of unkeyed lines for each; keyed ones have a native one, and one into each lake that
            is named: "delta", "iceberg", "hudi".
    """
    unkeyed = {engine: INTO_FILES[engine] for engine in engines if engine not in LAKES}
    return [
        Pipeline(
            "chaos-lines",
            {"filename": str(folder / "file-*.txt"), "max.tasks": "2"},
            tuple(f"file-{number}" for number in range(FILES)),
            False,
            unkeyed,
        ),
        Pipeline(
            "chaos-keyed",
            {"filename": str(folder / "keyed.jsonl"), "format": "jsonlines", "key.field": "key"},
            tuple(f"key-{number:02d}" for number in range(KEYS)),
            True,
            {"keyed": INTO_FILES["keyed"], **{engine: engine for engine in engines if engine in LAKES}},
        ),
    ]


class Load:
    """Feeds, and sees what arrives. `start` before anything else.

    Args:
        folder: For the files of sources.
        out: For the files of sinks: another one when its disk is to be filled.
        fed: What is fed and written, such as `pipelines`.
        rate: Unkeyed lines a second; keyed ones come at a rate of their own.
    """

    def __init__(self, folder: Path, out: Path, fed: Sequence[Pipeline], rate: int) -> None:
        self.pipelines = fed
        self._folder = folder
        self._each = max(1, round(rate * TICK_SECONDS / FILES))
        self._fed = {partition: 0 for pipeline in self.pipelines for partition in pipeline.partitions}
        self._tick = 0
        self._lock = threading.Lock()
        self._going = threading.Event()
        self._sinks: dict[str, Sink] = {}
        self._of: dict[str, Pipeline] = {}
        for pipeline in self.pipelines:
            for name, wanted in pipeline.sinks.items():
                self._sinks[name], self._of[name] = sink_of(wanted, out / f"{name}.out"), pipeline

    def start(self, api: Api) -> None:
        """Create the connectors, sinks first, and begin to feed."""
        self._feed_once()
        for pipeline in self.pipelines:
            for name in pipeline.sinks:
                _create(api, name, {**self._sinks[name].options, "topics": pipeline.topic})
            _create(api, f"{pipeline.topic}-source", {"connector.class": "file_source", "topic": pipeline.topic, **pipeline.source})
        self._going.set()
        threading.Thread(target=self._feed, name="feeder", daemon=True).start()

    @property
    def topics(self) -> dict[str, str]:
        """The topics, by the names of the sources that send to them."""
        return {f"{pipeline.topic}-source": pipeline.topic for pipeline in self.pipelines}

    @property
    def connectors(self) -> set[str]:
        """The names of all connectors."""
        return {*self._sinks, *self.topics}

    def pause(self) -> None:
        """Feed nothing more for now."""
        self._going.clear()

    def go_on(self) -> None:
        """Feed again."""
        self._going.set()

    def now(self) -> int:
        """The tick: what is fed from now on has a higher one."""
        with self._lock:
            return self._tick

    def in_flight(self) -> dict[str, int]:
        """For each sink: how many lines have been fed that it does not have."""
        with self._lock:
            fed = dict(self._fed)
        found = {}
        for name, sink in self._sinks.items():
            sink.look()
            found[name] = sum(fed[partition] for partition in self._of[name].partitions) - sink.count
        return found

    def quiet_seconds(self) -> dict[str, float]:
        """For each sink: how long ago it moved last, as `in_flight` saw it."""
        now = time.monotonic()
        return {name: now - sink.moved for name, sink in self._sinks.items()}

    def arrived_after(self, tick: int, *names: str) -> bool:
        """Whether every sink, or each of these, has from every partition a line that was fed after that tick."""
        wanted = names or tuple(self._sinks)
        for name in wanted:
            self._sinks[name].look()
        return all(self._sinks[name].seen.get(partition, -1) > tick for name in wanted for partition in self._of[name].partitions)

    def check(self) -> Verdict:
        """Compare everything that is new. Only while paused and drained."""
        return sum((self.check_sink(name) for name in self._sinks), Verdict())

    def check_sink(self, name: str) -> Verdict:
        """Compare what is new in one sink. Only while paused and drained."""
        return self._sinks[name].check({partition: self._fed[partition] for partition in self._of[name].partitions})

    def _feed(self) -> None:
        while True:
            self._going.wait()
            self._feed_once()
            time.sleep(TICK_SECONDS)

    def _feed_once(self) -> None:
        with self._lock:
            self._tick += 1
            for pipeline in self.pipelines:
                lines: dict[Path, list[str]] = {}
                for partition in pipeline.partitions:
                    for _ in range(1 if pipeline.as_json else self._each):
                        line = Line(partition, self._fed[partition], self._tick)
                        self._fed[partition] += 1
                        text = line.json() if pipeline.as_json else line.text()
                        lines.setdefault(pipeline.file_of(self._folder, partition), []).append(f"{text}\n")
                for path, texts in lines.items():
                    with path.open("a") as file:
                        file.writelines(texts)


def _create(api: Api, name: str, config: Mapping[str, str]) -> None:
    for attempts_left in reversed(range(60)):
        try:
            api.request("POST", "/v1/connectors", body={"name": name, "config": dict(config)})
        except ApiError as error:
            if error.exit_code is not Exit.UNAVAILABLE or not attempts_left:
                raise
            time.sleep(0.5)
        else:
            return
