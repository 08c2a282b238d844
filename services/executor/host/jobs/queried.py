"""What the query of a sink makes of the records of a preview."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby

from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.queries.options import QuerySettings
from rocketconnect_sdk.queries.tables import Tables
from rocketconnect_sdk.transforms.processes.sql import SqlProcess
from rocketmq_remoting.batch import DecodedBatch
from services.executor.host.jobs.previewed import Seen
from services.executor.host.jobs.shown import of_sink
from services.executor.runtime.sink.decode.decoder import Decoder
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.sink.query.flow import Flow
from services.executor.runtime.sink.query.records import gathered
from services.executor.runtime.sink.query.state import QueryState

_RESULT = "result of the query"


class Queried:
    """Gathers the records of a preview behind their transforms, and runs the query over them. Used by one thread.

    Args:
        settings: The query.
        plugin: The name of the sink.
        decoder: Of its messages, with its transforms.
    """

    def __init__(self, settings: QuerySettings, plugin: str, decoder: Decoder) -> None:
        self._settings = settings
        self._plugin = plugin
        self._decoder = decoder
        self._parts: list[Part] = []

    def take(self, batch: DecodedBatch, last: int) -> None:
        """The next messages, those up to an offset."""
        for part in self._decoder.decode(batch, None, batch.offsets[0], {}, time.monotonic(), {}):
            records = part.records.take([place for place, offset in enumerate(part.records.offsets) if offset <= last])
            if len(records):
                self._parts.append(replace(part, records=records))

    def rows(self) -> Iterator[tuple[str, Seen]]:
        """The rows that would be written, each with where it is from; of windows those of all, as if no more came for them.

        What the query can't take is among them, with the reason.
        """
        if not self._parts:
            return
        try:
            yield from self._made()
        except ConnectorError as error:
            yield _RESULT, Seen("write", self._plugin, None, str(error))

    def _made(self) -> Iterator[tuple[str, Seen]]:
        tables = Tables(self._settings.tables).now()
        with closing(SqlProcess(self._settings.query.text, self._settings.timeout, "query.timeout")) as process:
            process.set_tables(tables)
            flow, state = Flow(self._settings, process), QueryState()
            written: list[Part] = []
            wrong: list[tuple[str, str]] = []
            # A batch of a sink is of one schema.
            for _, some in groupby(self._parts, lambda part: part.records.schema):
                parts = list(some)
                # No queue is waited for, so no window is over.
                made = flow.made(state, parts, tables, (), lambda _: True)
                state = made.state
                written += made.parts
                given = gathered(parts)
                bad = sorted({**made.bad, **made.late}.items())
                wrong += [(f"{given.queues[index]}: {given.offsets[index]}", reason) for index, reason in bad]
            written += flow.open_windows(state, self._parts)
        records = ((part, offset, record) for part in written for (offset, _), record in of_sink(part.records))
        for number, (part, offset, record) in enumerate(records, 1):
            of = "" if self._settings.window else f", of {part.queue}: {offset}"
            yield f"{_RESULT}, row {number}{of}", Seen("write", self._plugin, record)
        for place, reason in wrong:
            yield f"{_RESULT}, {place}", Seen("write", self._plugin, None, reason)
