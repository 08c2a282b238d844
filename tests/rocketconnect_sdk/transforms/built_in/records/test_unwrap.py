"""unwrap puts the row after a change in the place of its envelope."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64)
ROW = struct([("id", NUMBER)], name="orders.Value")
SOURCE = struct([("table", STRING), ("ts_ms", NUMBER)])
TEXTS = Schema(Type.MAP, keys=STRING, items=STRING)
ENVELOPE = struct(
    [("before", replace(ROW, optional=True)), ("after", replace(ROW, optional=True)), ("source", SOURCE), ("op", STRING)],
    name="orders.Envelope",
)
WITH_NAME = struct(
    [
        ("before", replace(ROW, optional=True)),
        ("after", struct([("id", NUMBER), ("name", STRING)], optional=True)),
        ("source", SOURCE),
        ("op", STRING),
    ]
)
"""Where the row before a change has only what it is found by."""

WITH_UNCHANGED = struct(
    [
        ("before", struct([("id", NUMBER)], optional=True)),
        ("after", struct([("id", NUMBER), ("name", OPTIONAL_STRING)], optional=True)),
        ("op", STRING),
        ("unchanged", Schema(Type.ARRAY, optional=True, items=STRING)),
    ]
)


def change(op: str, before: object, after: object, *, schema: bool = True) -> Record:
    value = {"before": before, "after": after, "source": {"table": "orders", "ts_ms": 7}, "op": op}
    return Record(value, ENVELOPE if schema else None, 1, NUMBER, headers={"h": "v"})


def becomes(value: object, schema: Schema | None = ROW, **headers: str) -> Record:
    return Record(value, schema, 1, NUMBER, headers={"h": "v", **headers})


class TestUnwrap(TransformSuite):
    transform: ClassVar[str] = "unwrap"
    wrong: ClassVar = [
        ({"delete.tombstone.handling.mode": "keep"}, "must be one of drop, tombstone, rewrite"),
        ({"delete.tombstone.handling.mode": "drop", "drop.tombstones": "true"}, "says the same as delete.tombstone.handling.mode"),
        ({"delete.handling.mode": "x"}, "must be one of drop, rewrite, none"),
        ({"add.fields": "op:"}, "has 'op:' instead of a field"),
        ({"add.headers": "a..b"}, "has 'a..b' instead of a field"),
        ({"add.headers": "x.b"}, "there is only before, after, source, transaction with a dot"),
        ({"drop.fields.from.key": "true"}, "is about fields that a header names, and no header is given"),
        ({"drop.fields.keep.schema.compatible": "false"}, "is about fields that a header names, and no header is given"),
    ]

    def examples(self) -> Sequence[Example]:
        new, gone = change("u", {"id": 1}, {"id": 2}), change("d", {"id": 1}, None)
        tombstone = replace(new, value=None)
        rewritten = struct([("id", NUMBER), ("__deleted", STRING)], name="orders.Value")
        added = struct(
            [
                ("id", NUMBER),
                ("__op", OPTIONAL_STRING),
                ("__source_ts_ms", replace(NUMBER, optional=True)),
                ("__of", OPTIONAL_STRING),
            ],
            name="orders.Value",
        )
        mode = "delete.tombstone.handling.mode"
        row = {"id": 1, "name": "x"}
        named = {"before": {"id": 1}, "after": row, "source": {"table": "orders", "ts_ms": 7}, "op": "u"}
        rewritten_named = struct([("id", NUMBER), ("name", STRING), ("__deleted", STRING)])
        texts, written = {"op": "u", "before": "1", "after": "2"}, struct([(name, STRING) for name in ("op", "before", "after")])
        to_tombstone = becomes(None, None)
        named_row = struct([("id", NUMBER), ("name", OPTIONAL_STRING)])
        untold = {"before": None, "after": {"id": 1, "name": None}, "op": "u", "unchanged": ["name"]}
        return [
            Example({}, new, becomes({"id": 2})),
            Example({}, change("c", None, {"id": 1}, schema=False), becomes({"id": 1}, None)),
            Example({}, gone, to_tombstone),
            Example({}, tombstone, None),
            Example({mode: "tombstone"}, gone, None),
            Example({mode: "tombstone"}, tombstone, tombstone),
            Example({}, change("t", None, None), None),
            Example({}, Record({"id": 1}, ROW), Record({"id": 1}, ROW)),
            Example({}, Record("text"), Record("text")),
            Example({}, Record(texts, written), Record(texts, written)),
            Example({}, Record(texts), "the change (u) has no row after it"),
            Example({"add.headers": "op"}, Record(texts, TEXTS), Record(texts, TEXTS)),
            Example({"delete.handling.mode": "none"}, new, becomes({"id": 2})),
            Example({mode: "delete-to-tombstone"}, new, becomes({"id": 2})),
            Example({mode: "rewrite-with-tombstone"}, gone, becomes({"id": 1, "__deleted": "true"}, rewritten)),
            Example({mode: "rewrite"}, change("d", {"id": 1}, None, schema=False), becomes({"id": 1, "__deleted": "true"}, None)),
            Example({}, change("u", None, None), "the change (u) has no row after it"),
            Example({mode: "drop"}, gone, None),
            Example({mode: "drop"}, tombstone, None),
            Example({mode: "rewrite"}, gone, becomes({"id": 1, "__deleted": "true"}, rewritten)),
            Example({mode: "rewrite"}, new, becomes({"id": 2, "__deleted": "false"}, rewritten)),
            Example({mode: "rewrite"}, tombstone, None),
            Example({mode: "rewrite"}, change("d", None, None), "the change (d) has no row before it"),
            Example({mode: "rewrite-with-tombstone"}, tombstone, tombstone),
            Example({mode: "delete-to-tombstone"}, gone, to_tombstone),
            Example({mode: "delete-to-tombstone"}, tombstone, None),
            Example({mode: "rewrite"}, Record(gone.value, WITH_NAME), Record({"id": 1, "__deleted": "true"}, rewritten)),
            Example({mode: "rewrite"}, Record(named, WITH_NAME), Record({**row, "__deleted": "false"}, rewritten_named)),
            Example({}, Record(untold, WITH_UNCHANGED), Record({"id": 1, "name": None}, named_row, headers={"unchanged": "name"})),
            Example({}, Record({**untold, "unchanged": None}, WITH_UNCHANGED), Record({"id": 1, "name": None}, named_row)),
            Example({"drop.tombstones": "false"}, tombstone, tombstone),
            Example({"drop.tombstones": "false"}, gone, None),
            Example({"delete.handling.mode": "none"}, gone, to_tombstone),
            Example({"delete.handling.mode": "none"}, tombstone, None),
            Example(
                {"add.fields": "op,source.ts_ms,table:of"},
                new,
                becomes({"id": 2, "__op": "u", "__source_ts_ms": 7, "__of": "orders"}, added),
            ),
            Example({"add.fields": "op:id", "add.fields.prefix": ""}, new, "the row has the field id already"),
            Example({"add.fields": "lsn"}, new, "there is no field source.lsn"),
            Example({"add.headers": "op,ts_ms:at", "add.headers.prefix": "_"}, new, "there is no field ts_ms"),
            Example(
                {"add.headers": "op,source.ts_ms:at,before.id", "add.headers.prefix": "_"},
                new,
                becomes({"id": 2}, _op="u", _at="7", _before_id="1"),
            ),
            Example({"add.headers": "before.id,source"}, change("c", None, {"id": 1}), "there is no field source.source"),
            Example({"add.headers": "before.id"}, change("c", None, {"id": 1}), becomes({"id": 1})),
            *self.routed(),
            *self.dropped(),
        ]

    def routed(self) -> Sequence[Example]:
        """By a field of the row."""
        by_id = {"route.by.field": "id"}
        new, gone, tombstone = change("u", {"id": 1}, {"id": 2}), change("d", {"id": 1}, None), Record(None, ENVELOPE, topic="t")
        rewritten = struct([("id", NUMBER), ("__deleted", STRING)], name="orders.Value")
        unnamed = {"before": None, "after": {"id": 1, "name": None}, "op": "c"}
        return [
            Example(by_id, new, replace(becomes({"id": 2}), topic="2")),
            Example(by_id, gone, replace(becomes(None, None), topic="1")),
            Example(
                {**by_id, "delete.tombstone.handling.mode": "rewrite"},
                gone,
                replace(becomes({"id": 1, "__deleted": "true"}, rewritten), topic="1"),
            ),
            Example({**by_id, "drop.tombstones": "false"}, tombstone, tombstone),
            Example(by_id, change("c", None, {"id": 3}, schema=False), replace(becomes({"id": 3}, None), topic="3")),
            Example(by_id, Record({"id": 1}, ROW, topic="t"), Record({"id": 1}, ROW, topic="t")),
            Example({"route.by.field": "none"}, new, "names no topic: the row after the change has none there"),
            Example({"route.by.field": "name"}, Record(unnamed, WITH_UNCHANGED), "the row after the change has none there"),
            Example(by_id, change("d", None, None), "names no topic: the change has no row before it"),
            Example({"route.by.field": "x"}, change("c", None, {"id": 3}, schema=False), "there is no field x"),
        ]

    def dropped(self) -> Sequence[Example]:
        """What a header names."""
        name, compatible = "drop.fields.header.name", "drop.fields.keep.schema.compatible"
        row, schema = {"id": 1, "name": "x"}, struct([("id", NUMBER), ("name", OPTIONAL_STRING)])
        envelope = struct([("before", replace(schema, optional=True)), ("after", replace(schema, optional=True)), ("op", STRING)])
        only_id = struct([("id", NUMBER)])

        def new(names: str | None, *, typed: bool = True) -> Record:
            key_schema = schema if typed else None
            headers = {} if names is None else {"gone": names}
            return Record({"before": None, "after": row, "op": "c"}, envelope if typed else None, row, key_schema, headers=headers)

        def left(names: str | None, value: object, of: Schema | None, key: object = row, of_key: Schema | None = schema) -> Record:
            return Record(value, of, key, of_key, headers={} if names is None else {"gone": names})

        untold = {"before": None, "after": {"id": 1, "name": None}, "op": "u", "unchanged": ["name"]}
        return [
            Example({name: "gone"}, new("name"), left("name", {"id": 1}, only_id)),
            Example({name: "gone"}, new('["name", "id"]'), left('["name", "id"]', {"id": 1}, only_id)),
            Example({name: "gone", compatible: "false"}, new(" id , name"), left(" id , name", {}, struct([]))),
            Example({name: "gone"}, new("name,id", typed=False), left("name,id", {}, None, of_key=None)),
            Example({name: "gone"}, new("other"), left("other", row, schema)),
            Example({name: "gone"}, new(None), left(None, row, schema)),
            Example(
                {name: "gone", "drop.fields.from.key": "true"},
                new("name"),
                left("name", {"id": 1}, only_id, {"id": 1}, only_id),
            ),
            Example({name: "gone"}, new("[1]"), "the header gone is no list of fields: '[1]'"),
            Example({name: "gone"}, new("[name"), "the header gone is no list of fields: '[name'"),
            Example({name: "unchanged"}, Record(untold, WITH_UNCHANGED), Record({"id": 1}, only_id, headers={"unchanged": "name"})),
        ]
