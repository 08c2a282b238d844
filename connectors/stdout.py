"""Lines to the standard output of the process that runs the task: to look at what flows."""

import sys
from collections.abc import Callable, Mapping, Sequence

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordError, RecordRefused
from rocketconnect_sdk.files.lines import json_line, plainly, text_line
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import Guarantee, QueuePosition, Receipt, RecordSink, RecordSinkTask, SinkCommit, SinkWriter

_FORMS: Mapping[str, Callable[[object], bytes]] = {"text": text_line, "jsonlines": json_line}


class Stdout(RecordSink):
    """Prints each value as a line to the standard output of its executor: with `up`, to DATA/logs/executor-1.log."""

    name = "stdout"
    guarantee = Guarantee.AT_LEAST_ONCE
    options = (
        Option("format", "text: text as it is, anything else as JSON. jsonlines: JSON.", default="text", choices=tuple(_FORMS)),
    )

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "StdoutTask":
        """See RecordSink."""
        del task, context
        return StdoutTask(config["format"])


class StdoutTask(RecordSinkTask):
    """Prints what was staged."""

    def __init__(self, form: str) -> None:
        self._form = form

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. A terminal remembers no positions."""
        return {}

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return LineMaker(self._form)

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask."""
        del commit
        sys.stdout.write(b"".join(receipts).decode("utf-8", "replace"))
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing is held."""


class LineMaker(SinkWriter):
    """Makes lines, wherever the records are; they are printed by the task."""

    def __init__(self, form: str) -> None:
        self._form = form

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """See SinkWriter."""
        del part
        lines, refused = [], {}
        for index, value in enumerate(batch.values):
            try:
                lines.append(_FORMS[self._form](*plainly([value], batch.schema)))
            except RecordError as error:
                refused[index] = str(error)
        if refused:
            raise RecordRefused(refused, b"".join(lines))
        return b"".join(lines)
