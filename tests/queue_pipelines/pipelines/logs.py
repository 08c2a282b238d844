"""A log that logrotate rotates, read by two tasks, into a topic, and from there into documents of OpenSearch: each line once."""

from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager

from tests.connectors.logs.rotating import Rotating
from tests.queue_pipelines.comparing import each_once
from tests.queue_pipelines.events import event
from tests.queue_pipelines.pipeline import BROKER, EXECUTOR, JSON, TASK, TOPIC, Feed, Pipeline
from tests.queue_pipelines.pipelines.documents import Documents
from tests.servers.search.real import OpenSearch

_ROTATED_EACH = 200
"""So many lines."""
_GROK = r"^%{TIMESTAMP_ISO8601:time} %{LOGLEVEL:level} order %{INT:number:long} of %{NOTSPACE:shop}: %{GREEDYDATA:message}$"


class LogsToOpenSearch(Pipeline):
    """See the module."""

    kills = (TASK, TASK, EXECUTOR, BROKER, "target", EXECUTOR)

    def start(self, stack: ExitStack) -> None:
        """See Pipeline."""
        target = stack.enter_context(OpenSearch().running())
        self.servers = {"target": target}
        self._documents = Documents(target)
        self._log = Rotating(self.folder / "log", "create", "compress")
        stack.callback(self._log.close)

    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Pipeline."""
        source = {
            "connector.class": "log_source",
            "filename": f"{self._log.path}*",
            "exclude": "",
            "max.tasks": "2",
            "format": "grok",
            "grok": _GROK,
            "topic": TOPIC,
        }
        # Lines have no ids of their own: a line that comes twice is two documents.
        sink = {**self._documents.options(), "topics": TOPIC, "id": "${queue}-${offset}"}
        return {"logs-in": {**source, **JSON}, "search-out": {**sink, **JSON}}

    @contextmanager
    def feeder(self) -> Iterator[Feed]:
        """See Pipeline."""
        yield self._write

    def arrived(self) -> Set[int]:
        """See Pipeline."""
        return self._documents.numbers()

    def compare(self, given: int) -> str:
        """See Pipeline."""
        found = [tuple(sorted(document.items())) for document in self._documents.all()]
        each_once((tuple(sorted(_fields(number).items())) for number in range(given)), found)
        return f"{len(found)} lines are there once, over {given // _ROTATED_EACH} rotations"

    def _write(self, number: int) -> bool:
        """See Feed."""
        line = _fields(number)
        order = f"order {line['number']} of {line['shop']}: {line['message']}"
        self._log.write(f"{line['time']} {line['level']} {order}\n")
        if number % _ROTATED_EACH == _ROTATED_EACH - 1:
            self._log.rotate()
            self._log.reopen()
        return True


def _fields(number: int) -> dict[str, str | int]:
    """Those of a line."""
    made = event(number)
    seconds = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    shown = {"time": f"2026-01-02 {seconds}", "level": "INFO" if made["paid"] else "ERROR"}
    return {**shown, "number": number, "shop": made["shop"], "message": made["name"].replace("\n", " ")}
