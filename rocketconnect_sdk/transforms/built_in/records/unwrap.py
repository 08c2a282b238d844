"""unwrap: the row of a change, as change data capture sends it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import STRING, Field, Schema, Type
from rocketconnect_sdk.transforms.base import Record, Records, Transform
from rocketconnect_sdk.transforms.dropped_fields import DroppedFields
from rocketconnect_sdk.transforms.paths import Path, array_at, path_problem, read_path, schema_at, value_at
from rocketconnect_sdk.transforms.texts import text_of

_MODES: Mapping[str, tuple[str, bool]] = {
    "drop": ("drop", False),
    "tombstone": ("drop", True),
    "rewrite": ("rewrite", False),
    "rewrite-with-tombstone": ("rewrite", True),
    "delete-to-tombstone": ("none", False),
}
"""What becomes of a deletion, and whether tombstones stay."""
_ENVELOPE = {"op", "before", "after"}
_OF_CHANGE = ("op", "ts_ms", "ts_us", "ts_ns")
_WITH_ROW = ("c", "u", "r")
"""Created, updated, read for the first time."""
_PARTS = ("before", "after", "source", "transaction")
_DELETED = "__deleted"
_UNCHANGED = "unchanged"
"""Field and header: see docs/changes.md."""


@dataclass(frozen=True, slots=True)
class _Added:
    """Something of the envelope that goes on, under another name."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class _Plan:
    """Of envelopes of one schema the schemas of what comes out: rows after and before a change, and what becomes headers."""

    after: Schema | None
    before: Schema | None
    headers: Sequence[Schema | None]


def _added(texts: Sequence[str], prefix: str) -> list[_Added]:
    found = []
    for text in texts:
        named, _, new = text.partition(":")
        path = read_path(named)
        if len(path) == 1 and path[0] not in _OF_CHANGE:
            found.append(_Added(("source", *path), prefix + (new or path[0])))
        else:
            found.append(_Added(path, prefix + (new or "_".join(path))))
    return found


def _added_problem(texts: Sequence[str]) -> str | None:
    for text in texts:
        path, colon, new = text.partition(":")
        if path_problem(path) or (colon and not new):
            return f"has {text!r} instead of a field such as op or source.ts_ms, or field:new_name"
        parts = read_path(path)
        if len(parts) > 1 and parts[0] not in _PARTS:
            return f"has {text!r}, and there is only {', '.join(_PARTS)} with a dot behind it"
    return None


def _list(key: str, what: str) -> Option:
    doc = f"What goes on of the change {what}: op, ts_ms, source.NAME (or NAME alone), field:new_name; separated by commas."
    return Option(key, doc, Kind.LIST, "", check=_added_problem, fix="Write for instance op,source.ts_ms,table:from_table")


class Unwrap(Transform):
    """Puts the row after a change in the place of Debezium's envelope. What is no such envelope passes as it is.

    Changes that are of no row (truncations, messages) are dropped.

    An envelope is a struct with the fields op, and before and after, which are structs. A name alone in add.fields and add.headers
    is a field of source, but for op, ts_ms, ts_us and ts_ns; source.ts_ms becomes __source_ts_ms. It must be there. A null makes
    no header. With tombstone deletions reach the other side only by the tombstones behind them. Columns whose values the database
    did not tell, since they did not change, are null, and the header unchanged names them: drop.fields.header.name=unchanged
    leaves them out instead. A tombstone behind a deletion has no row, and keeps its topic where others are routed.
    """

    name: ClassVar[str] = "unwrap"
    aliases: ClassVar[Sequence[str]] = ("io.debezium.transforms.ExtractNewRecordState",)
    options: ClassVar[Sequence[Option]] = (
        Option(
            "delete.tombstone.handling.mode",
            "What becomes of deletions and of the tombstones behind them. tombstone: only tombstones stay. drop: neither. rewrite: "
            "deletions become the row before with __deleted=true (false in others). rewrite-with-tombstone: both stay. "
            "delete-to-tombstone: deletions become tombstones, the others are dropped. Without it: delete-to-tombstone, which is "
            "the same as Debezium's own tombstone where each deletion has one behind it, and loses no deletion where it has none.",
            choices=tuple(_MODES),
        ),
        Option(
            "delete.handling.mode",
            "The older form: what becomes of deletions. drop, rewrite as above, none: they become tombstones.",
            choices=("drop", "rewrite", "none"),
        ),
        Option("drop.tombstones", "The older form: whether tombstones are dropped. Without it, with the other: true.", Kind.BOOL),
        _list("add.fields", "as fields"),
        Option("add.fields.prefix", "What the names of these fields begin with.", default="__"),
        _list("add.headers", "as headers"),
        Option("add.headers.prefix", "What the names of these headers begin with.", default="__"),
        Option("route.by.field", "A field of the row, of that before a deletion and after other changes: the topic.", default=""),
        Option(
            "drop.fields.header.name",
            "The header that names fields to leave out of the row, with commas or as a JSON array; without it nothing is left out.",
            default="",
        ),
        Option("drop.fields.from.key", "They are left out of the key, too.", Kind.BOOL, "false"),
        Option(
            "drop.fields.keep.schema.compatible",
            "Of those only fields that may be null by the schema are left out; false: all of them.",
            Kind.BOOL,
            "true",
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._deletions, self._tombstones = _MODES[config["delete.tombstone.handling.mode"] or "delete-to-tombstone"]
        if config["delete.handling.mode"] is not None or config["drop.tombstones"] is not None:
            self._deletions, self._tombstones = config["delete.handling.mode"] or "drop", config["drop.tombstones"] is False
        self._fields = _added(config["add.fields"], config["add.fields.prefix"])
        self._headers = _added(config["add.headers"], config["add.headers.prefix"])
        self._route: str = config["route.by.field"]
        self._drop = DroppedFields(config) if config["drop.fields.header.name"] else None
        self._untyped = _Plan(None, None, [None] * len(self._headers))
        self._plan = lru_cache(64)(self._made_plan)

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        older = [key for key in ("delete.handling.mode", "drop.tombstones") if config[key] is not None]
        if config["delete.tombstone.handling.mode"] is not None and older:
            reason = "says the same as delete.tombstone.handling.mode, in its older form"
            yield Problem(older[0], str(config[older[0]]), reason, "Give only one of them.")
        if not config["drop.fields.header.name"]:
            for key, value in (("drop.fields.from.key", True), ("drop.fields.keep.schema.compatible", False)):
                if config[key] is value:
                    fix = "Give drop.fields.header.name, or leave this out."
                    yield Problem(key, str(value).lower(), "is about fields that a header names, and no header is given", fix)

    def apply(self, record: Record) -> Record | None:
        """See Transform."""
        return self._changed(record, self._untyped if record.schema is None else self._plan(record.schema))

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        plan = None if records.schema is None else self._plan(records.schema)
        # Rows of two schemas, and what is no envelope, are put together again one by one.
        if plan is None or plan.after is None or (self._deletions == "rewrite" and plan.after != plan.before):
            return None
        # Each may have a topic, or fields, of its own.
        if self._route or self._drop is not None:
            return None
        if isinstance(records.values, Column) and not (self._fields or self._headers or self._deletions == "rewrite"):
            return self._columns(records, records.values, plan.after)
        made = [(place, self._changed(record, plan)) for place, record in enumerate(records.each())]
        kept = [(place, record) for place, record in made if record is not None]
        headers = [record.headers for _, record in kept]
        return replace(
            replace(records, values=[None] * len(records)).take([place for place, _ in kept]),
            values=[record.value for _, record in kept],
            schema=plan.after,
            headers=headers if any(headers) else None,
        )

    def _columns(self, records: Records, values: Column, schema: Schema) -> Records | None:
        """Without looking at rows; None where one is missing."""
        rows, ops = array_at(values.array, ("after",)), list(Column(array_at(values.array, ("op",))))
        if _UNCHANGED in [field.name for field in values.array.type] and array_at(values.array, (_UNCHANGED,)).null_count < len(
            rows
        ):
            return None
        there = rows.is_valid().to_pylist()
        if any((op in _WITH_ROW) is not is_there for op, is_there in zip(ops, there, strict=True)):
            return None
        nulls = {op for op, stays in ((None, self._tombstones), ("d", self._deletions == "none")) if stays}
        kept = [place for place, op in enumerate(ops) if op in _WITH_ROW or op in nulls]
        taken = Column(rows if len(kept) == len(rows) else rows.take(kept))
        return replace(replace(records, values=[None] * len(records)).take(kept), values=taken, schema=schema)

    def _changed(self, record: Record, plan: _Plan | None) -> Record | None:
        change = record.value
        if change is None:
            return record if self._tombstones else None
        if plan is None or not isinstance(change, Mapping) or not change.keys() >= _ENVELOPE:
            return record
        deleted = change["op"] == "d"
        if not (deleted or change["op"] in _WITH_ROW) or (deleted and self._deletions == "drop"):
            return None
        headers = {**record.headers, **self._texts(change, record.schema, plan.headers)}
        if unchanged := change.get(_UNCHANGED):
            headers[_UNCHANGED] = ",".join(map(str, unchanged))
        state = "before" if deleted else "after"
        row = change[state]
        topic = self._topic(record, row, state, plan.before if deleted else plan.after)
        if deleted and self._deletions == "none":
            return replace(record, value=None, schema=None, headers=headers, topic=topic)
        if not isinstance(row, Mapping):
            msg = f"the change ({change['op']}) has no row {state} it: let the source send whole rows, or drop it"
            raise RecordError(msg)
        added = {each.name: value_at(change, each.path, record.schema) for each in self._fields}
        if self._deletions == "rewrite":
            added[_DELETED] = "true" if deleted else "false"
        if doubled := sorted(added.keys() & row.keys()):
            msg = f"the row has the field {doubled[0]} already: choose another add.fields.prefix"
            raise RecordError(msg)
        schema = plan.before if deleted else plan.after
        changed = replace(record, value={**row, **added}, schema=schema, headers=headers, topic=topic)
        return changed if self._drop is None else self._drop.of(changed)

    def _topic(self, record: Record, row: object, state: str, schema: Schema | None) -> str:
        if not self._route:
            return record.topic
        path = (self._route,)
        value = None if row is None else value_at(row, path, schema)
        try:
            found = "" if value is None else text_of(value, None if schema is None else schema_at(schema, path))
        except ValueError as error:
            msg = f"route.by.field={self._route} is no name of a topic: {error}"
            raise RecordError(msg) from None
        if not found:
            reason = f"the row {state} the change has none there" if row is not None else f"the change has no row {state} it"
            msg = f"route.by.field={self._route} names no topic: {reason}; choose a field that every row has"
            raise RecordError(msg)
        return found

    def _texts(self, change: Mapping[str, object], schema: Schema | None, schemas: Sequence[Schema | None]) -> Mapping[str, str]:
        texts = {}
        for each, of in zip(self._headers, schemas, strict=True):
            value = value_at(change, each.path, schema)
            if value is None:
                continue
            try:
                texts[each.name] = text_of(value, of)
            except ValueError as error:
                msg = f"{each.name} can't become a header: {error}"
                raise RecordError(msg) from None
        return texts

    def _made_plan(self, envelope: Schema) -> _Plan | None:
        """None: it is no envelope."""
        kinds = {field.name: field.schema.type for field in envelope.fields}
        if not kinds.keys() >= _ENVELOPE or not kinds["before"] is kinds["after"] is Type.STRUCT:
            return None
        added = [Field(each.name, replace(schema_at(envelope, each.path), optional=True)) for each in self._fields]
        if self._deletions == "rewrite":
            added.append(Field(_DELETED, STRING))
        rows = [schema_at(envelope, (state,)) for state in ("after", "before")]
        after, before = (replace(row, optional=False, fields=(*row.fields, *added)) for row in rows)
        # The same object for equal ones: what comes behind compares them.
        return _Plan(after, after if before == after else before, [schema_at(envelope, each.path) for each in self._headers])
