"""Events and documents as records. Pure."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from connectors.mongodb.reading.documents import extended, keyed, relaxed, typed
from connectors.mongodb.reading.events import Event, resume_of
from connectors.mongodb.reading.names import Name
from connectors.mongodb.reading.settings import RELAXED, STRUCT, Settings
from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.changes.topics import Named, Topics, named
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset, Rejected, SourceBatch
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, struct

_JSON = Schema(Type.JSON, optional=True)
_INT = Schema(Type.INT64)
_MAYBE = Schema(Type.INT64, optional=True)
_KEPT_BYTES = 4096
_CUT = struct([("field", STRING), ("newSize", _INT)])
_DESCRIPTION = struct(
    [
        ("updatedFields", _JSON),
        ("removedFields", Schema(Type.ARRAY, optional=True, items=STRING)),
        ("truncatedArrays", Schema(Type.ARRAY, optional=True, items=_CUT)),
    ],
    name="io.debezium.connector.mongodb.changestream.updatedescription",
    optional=True,
)
_SOURCE = struct(
    [
        ("connector", STRING),
        ("name", STRING),
        ("db", STRING),
        ("collection", STRING),
        ("snapshot", STRING),
        ("ts_ms", _INT),
        ("ord", _INT),
        ("lsid", OPTIONAL_STRING),
        ("txnNumber", _MAYBE),
        ("wallTime", _MAYBE),
        ("resumeToken", OPTIONAL_STRING),
    ],
    name="io.debezium.connector.mongodb.Source",
)
_TRANSACTION = struct([("id", STRING), ("total_order", _INT)], name="event.block", optional=True)


class _Record(NamedTuple):
    offset: Offset
    value: object
    key: object
    schema: Schema
    key_schema: Schema
    event: Event
    name: Name


class Records:
    """Makes batches.

    Args:
        settings: As configured.
        connector: The name of the connector.
    """

    def __init__(self, settings: Settings, connector: str) -> None:
        self._settings = settings
        self._server = settings.server or connector
        self._topics = Topics()
        # Most records have it, and it takes longer to make than all else of one.
        self._of_texts = self._envelope(_JSON, _JSON)

    def named(self, name: Name) -> Named:
        """A collection and its topic."""
        values = {"topic": self._settings.topic, "database": name.database, "collection": name.collection}
        return named(str(name), self._settings.template, values)

    def batches(self, partition: str, events: Iterable[Event], behind: Offset = ()) -> Iterator[SourceBatch]:
        """Events as batches of one type each, which go on behind their last records; what is not behind an offset was given.

        Raises:
            PermanentError: the topic of a collection is that of another one, from which it was to tell it apart.
        """
        records = (record for event in events for record in self._of(event) if record.offset > behind)
        for _, group in groupby(records, lambda record: (record.schema, record.key_schema)):
            yield self._batch(partition, list(group))

    def _batch(self, partition: str, records: Sequence[_Record]) -> SourceBatch:
        names = dict.fromkeys(record.name for record in records)
        topics = {name: self._topics.checked(self.named(name)) for name in names}
        headers = None if self._settings.form.envelope else [_HEADERS[record.event.op] for record in records if record.event.op]
        return SourceBatch(
            partition,
            [record.value for record in records],
            [record.offset for record in records],
            keys=[record.key for record in records],
            timestamps_ms=[record.event.ts_ms for record in records],
            headers=headers,
            topics=[topics[record.name] for record in records],
            schema=records[0].schema,
            key_schema=records[0].key_schema,
            size=sum(len(record.event.raw) for record in records),
            resume=resume_of(records[-1].event.token),
        )

    def _of(self, event: Event) -> Iterator[_Record]:
        if event.op is None or event.name is None or not self._settings.chosen.takes(event.name):
            return
        key_schema, key = keyed(event.identity)
        key_schema = _key(key_schema, self._server)
        schema, value = self._value(event)
        yield _Record(event.offset, value, {"_id": key}, schema, key_schema, event, event.name)
        if event.op is Operation.DELETE and self._settings.form.envelope and self._settings.form.tombstones:
            yield _Record((*event.offset, 1), None, {"_id": key}, schema, key_schema, event, event.name)

    def _value(self, event: Event) -> tuple[Schema, object]:
        try:
            before, after = self._document(event, event.before), self._document(event, event.document)
        except RecordError as error:
            return self._schema(_JSON, _JSON), _rejected(event, "NoType", str(error))
        if self._settings.document == STRUCT:
            # Of what is not there the type is that of what is.
            before, after = before if before[1] else (after[0], None), after if after[1] else (before[0], None)
        schema = self._schema(before[0], after[0])
        if event.flaw:
            fix = "a text of the document is no UTF-8: correct it in the database"
            return schema, _rejected(event, "InvalidUtf8", f"{event.flaw}; {fix}")
        if not self._settings.form.envelope:
            return schema, after[1]
        return schema, self._enveloped(event, before[1], after[1])

    def _schema(self, before: Schema, after: Schema) -> Schema:
        if not self._settings.form.envelope:
            return after
        return self._of_texts if before is _JSON and after is _JSON else self._envelope(before, after)

    def _envelope(self, before: Schema, after: Schema) -> Schema:
        fields = [("before", before), ("after", after), ("updateDescription", _DESCRIPTION), ("source", _SOURCE)]
        more = [("op", STRING), ("ts_ms", _INT), ("transaction", _TRANSACTION)]
        return struct([*fields, *more], name=f"{self._server}.Envelope")

    def _document(self, event: Event, document: Mapping[str, Any] | None) -> tuple[Schema, object]:
        form = self._settings.document
        if document is None:
            return _JSON, None
        if form != STRUCT:
            return _JSON, relaxed(document) if form == RELAXED else extended(document)
        schema, value = typed(document)
        return replace(schema, name=f"{self._server}.{event.name}.Value"), value

    def _enveloped(self, event: Event, before: object, after: object) -> Mapping[str, object]:
        changed, transaction = event.description, event.transaction
        name = event.name or Name("", "")
        description = changed and {
            "updatedFields": self._text(changed.updated),
            "removedFields": list(changed.removed),
            "truncatedArrays": [{"field": field, "newSize": size} for field, size in changed.truncated],
        }
        source = {
            "connector": "mongodb",
            "name": self._server,
            "db": name.database,
            "collection": name.collection,
            "snapshot": "true" if event.op is Operation.READ else "false",
            "ts_ms": event.ts_ms,
            "ord": 0 if event.op is Operation.READ else event.offset[1],
            "lsid": event.lsid,
            "txnNumber": event.number,
            "wallTime": event.wall_ms,
            "resumeToken": None if event.token is None else extended(event.token),
        }
        return {
            "before": before,
            "after": after,
            "updateDescription": description,
            "source": source,
            "op": event.op.value if event.op else "",
            "ts_ms": time.time_ns() // 1_000_000,
            "transaction": transaction and {"id": transaction[0], "total_order": transaction[1]},
        }

    def _text(self, value: object) -> str:
        return relaxed(value) if self._settings.document == RELAXED else extended(value)


@lru_cache(maxsize=100)
def _key(of_id: Schema, server: str) -> Schema:
    return struct([("_id", of_id)], name=f"{server}.Key")


_HEADERS = {operation: {"op": operation.value} for operation in Operation}


def _rejected(event: Event, error: str, reason: str) -> Rejected:
    return Rejected(error, reason, event.raw[:_KEPT_BYTES], len(event.raw), hashlib.sha256(event.raw).hexdigest())
