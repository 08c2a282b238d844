"""Lines into a file, natively or with Spark."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem, RecordError, RecordRefused
from rocketconnect_sdk.files import AppendedFile, Owner, StagedFile
from rocketconnect_sdk.files.checks import file_targets, kind_problems, place_problems
from rocketconnect_sdk.files.lines import json_line, json_lines, plainly, text_line, text_lines
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.roots import Access, Roots, writing
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import Guarantee, QueuePosition, Receipt, RecordSink, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.source import Plan
from rocketconnect_sdk.targets.owned import Target

_SMALL = 1 << 20
"""So many bytes go with a receipt to another process; more are staged in a file."""

_FORMS: Mapping[str, tuple[Callable[[Sequence[object]], bytes], Callable[[object], bytes]]] = {
    "text": (text_lines, text_line),
    "jsonlines": (json_lines, json_line),
}


class FileLines(RecordSink):
    """Appends each value as a line to a file, exactly once; natively it takes milliseconds."""

    name = "file_lines"
    guarantee = Guarantee.EXACTLY_ONCE
    options = (
        Option(
            "filename",
            "The absolute path of the file. Its directory must exist. Nobody else may write to it.",
            required=True,
            access=Access.WRITE,
            example="/tmp/orders.txt",  # noqa: S108  # a folder that is there on every machine
        ),
        Option(
            "format",
            "text: text and bytes as they are, anything else as JSON. jsonlines: JSON.",
            default="text",
            choices=tuple(_FORMS),
        ),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        yield from place_problems(config["filename"])
        yield from kind_problems(config["filename"], directory=False)

    def targets(self, config: Config) -> Iterable[Target]:
        """The file. See Sink."""
        yield from file_targets(config["filename"])

    def plan(self, config: Config, max_tasks: int) -> Plan:
        """One: a file has one writer, so that its order means something."""
        del config, max_tasks
        return Plan([{}])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "FileLinesTask":
        """See RecordSink."""
        del task
        owner = Owner(context.connector_uid, context.generation, context.task, context.epoch, context.connector)
        return FileLinesTask(AppendedFile(Path(config["filename"]), owner, context.log), config["format"])


class FileLinesTask(RecordSinkTask):
    """Appends what was staged."""

    def __init__(self, file: AppendedFile, form: str) -> None:
        self._file = file
        self._form = form

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask."""
        return self._file.start()

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return LineWriter(self._form, self._file.staged)

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask."""
        self._file.append(receipts, commit)

    def abort(self, receipts: Sequence[Receipt]) -> None:
        """See RecordSinkTask."""
        self._file.discard(receipts)

    def close(self) -> None:
        """Nothing is held between batches."""


class LineWriter(SinkWriter):
    """Makes lines. They go with the receipt; in another process only a few do, and many into a staged file."""

    def __init__(self, form: str, staged: Path, most: float = inf, roots: Roots | None = None) -> None:
        self._form = form
        self._staged = staged
        self._most = most
        self._roots = roots or writing()

    def __reduce__(self) -> tuple[type["LineWriter"], tuple[str, Path, int, Roots]]:
        """What is made of it elsewhere: also on machines of Spark's that no executor has told anything."""
        return LineWriter, (self._form, self._staged, _SMALL, self._roots)

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """The lines of a batch. See SinkWriter."""
        many, one = _FORMS[self._form]
        refused: dict[int, str] = {}
        try:
            data = many(plainly(batch.values, batch.schema))
        except RecordError:
            lines = []
            for index, value in enumerate(batch.values):
                try:
                    lines.append(one(*plainly([value], batch.schema)))
                except RecordError as error:
                    refused[index] = str(error)
            data = b"".join(lines)
        receipt = data if len(data) <= self._most else self._stage(data, part)
        if refused:
            raise RecordRefused(refused, receipt)
        return receipt

    def _stage(self, data: bytes, part: str) -> StagedFile:
        path = self._staged / part
        with understood(path):
            try:
                with os.fdopen(self._roots.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb", buffering=0) as file:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(file.fileno(), view) :]
            except BaseException:
                self._roots.remove(path)
                raise
        return StagedFile(str(path), len(data))
