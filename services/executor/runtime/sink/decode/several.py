"""Messages of one queue that may have several records each, or none.

What a message has moves as a whole: its records have its offset, and the number of each in it.
"""

from collections.abc import Sequence
from typing import Any

from rocketconnect_sdk.converters.base import Decoded
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.stages import Stage
from rocketmq_remoting.batch import DecodedBatch
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.rocketmq.properties import TOMBSTONE
from services.executor.runtime.sink.decode.decoder import Decoder, damaged
from services.executor.runtime.sink.decode.headers import headers_of
from services.executor.runtime.sink.decode.made import Made
from services.executor.runtime.sink.decode.taken import Originals, Taken

_NOTHING = Decoded(None)


class SeveralDecoder(Decoder):
    """Decodes with a converter whose messages may have several records. A message is bad as a whole when it can't be read."""

    def _take(self, batch: DecodedBatch, messages: Sequence[int]) -> Taken:
        indexes: list[int] = []
        rows: list[int] = []
        found: list[Decoded] = []
        schemas: list[Schema | None] = []
        failures: dict[int, Failure] = {}
        unread: set[int] = set()
        for index in messages:
            records, schema, failure = self._records(batch, index)
            if failure is not None:
                failures[len(rows)] = failure
                unread.add(index)
            for row, record in enumerate(records):
                if isinstance(record.value, RecordError):
                    # What is kept of it is made where its letter is: see Taken.bad_record.
                    failures[len(rows)] = Failure.of_value(Stage.CONVERT, record.value, b"", self._value)
                indexes.append(index)
                rows.append(row)
                found.append(record)
                schemas.append(schema)

        def original(place: int) -> bytes:
            body = batch.bodies[indexes[place]]
            return body if indexes[place] in unread else self._value.alone(body, rows[place])

        raws = [batch.raw_properties[index] for index in indexes]
        offsets = [batch.offsets[index] for index in indexes]
        made, bad = self._made(batch, indexes, raws, found, schemas)
        sizes = {index: len(batch.bodies[index]) for index in messages}
        return Taken(indexes, Originals(original, len(rows)), raws, offsets, made, {**bad, **failures}, rows, sizes)

    def _records(self, batch: DecodedBatch, index: int) -> tuple[Sequence[Decoded], Schema | None, Failure | None]:
        """The records of a message; a failure: that can't be read, and stands for one."""
        body, offset = batch.bodies[index], batch.offsets[index]
        if offset in batch.damaged:
            return [_NOTHING], None, damaged(batch, offset, body)
        if not body and TOMBSTONE in batch[index].properties:
            return [_NOTHING], None, None
        try:
            if self._value.reads_headers:
                return (*self._value.records_of(body, headers_of(batch[index].properties, "")), None)
            return (*self._value.records(body), None)
        except RecordError as error:
            return [_NOTHING], None, Failure.of_value(Stage.CONVERT, error, body, self._value)

    def _made(
        self,
        batch: DecodedBatch,
        indexes: Sequence[int],
        raws: Sequence[bytes],
        found: Sequence[Decoded],
        schemas: Sequence[Schema | None],
    ) -> tuple[Made, dict[int, Failure]]:
        """The records before the transforms: what they do not say themselves their messages say."""
        if not raws:
            return Made([], None, None, None, None), {}
        stored = [batch.store_timestamps_ms[index] for index in indexes]
        columns = self._columns(raws, stored, lambda place: batch[indexes[place]].message_id)
        of_messages = columns.keys or [None] * len(raws)
        keys = [each.key if each.key is not None else key for each, key in zip(found, of_messages, strict=True)]
        times: Sequence[Any] | None = columns.times
        if times is not None:
            pairs = zip(found, times, strict=True)
            times = [time if each.timestamp_ms is None else each.timestamp_ms for each, time in pairs]
        are_alike = all(schema == schemas[0] for schema in schemas)
        has_keys = any(key is not None for key in keys)
        values = [each.value for each in found]
        made = Made(values, schemas[0] if are_alike else schemas, keys if has_keys else None, times, columns.headers)
        return made, columns.bad
