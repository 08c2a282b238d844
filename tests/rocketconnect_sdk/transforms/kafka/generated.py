"""Records, and configurations of Kafka's transforms that fit them more or less."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.rocketconnect_sdk.typed_values import whole

_PACKAGE = "org.apache.kafka.connect.transforms."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXTS = st.sampled_from(
    ["", "a", "12", "-7", "1.5", "true", "TRUE", "no", "1e3", "2024-05-01", "2024-05-01 12:30:00", "é", "300", " 5"]
)
_TIMES = st.integers(-10_000_000_000, 4_000_000_000_000)
LEAVES: dict[Schema, st.SearchStrategy[Any]] = {
    **{Schema(Type(f"int{bits}")): whole(bits) | st.sampled_from([0, 1, -1, 100]) for bits in (8, 16, 32, 64)},
    Schema(Type.FLOAT32): st.sampled_from([0.0, 1.5, -2.75, 1e10, 3e38]),
    Schema(Type.FLOAT64): st.sampled_from([0.0, 1.5, -2.75, 3.0, 1e16, 1e-7, 3e300]),
    Schema(Type.BOOLEAN): st.booleans(),
    STRING: _TEXTS,
    BYTES: st.binary(max_size=3),
    decimal(2): st.sampled_from([Decimal("0.00"), Decimal("-12.34"), Decimal("5.00"), Decimal("99999999999.99")]),
    Schema(Type.DATE): st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    Schema(Type.TIME, unit=Unit.MILLISECONDS): st.times().map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)),
    timestamp(Unit.MILLISECONDS): _TIMES.map(lambda ms: _EPOCH + timedelta(milliseconds=ms)),
}
_NAMES = st.sampled_from(["a", "b", "c", "n", "x.y"])
_NAMED = st.sampled_from(["a", "b", "c", "n", "n.a", "n.b", "zz", "x.y"])


@dataclass(frozen=True)
class Given:
    """A record, with or without schemas, and what is done to it."""

    kind: str
    config: dict[str, str]
    key: tuple[Any, Schema | None]
    value: tuple[Any, Schema | None]
    topic: str
    timestamp: int | None
    headers: dict[str, str]
    has_schemas: bool


@st.composite
def _typed(draw: st.DrawFn, depth: int) -> tuple[Any, Schema]:
    kind = draw(st.sampled_from(["leaf"] * 5 + ["struct", "struct", "array", "map"]) if depth else st.just("leaf"))
    if kind == "struct":
        return draw(structs(depth - 1))
    if kind == "array":
        value, schema = draw(_typed(0))
        return [value] * draw(st.integers(0, 2)), Schema(Type.ARRAY, items=replace(schema, default=None))
    if kind == "map":
        value, schema = draw(_typed(0))
        return {"k": value}, Schema(Type.MAP, keys=STRING, items=replace(schema, default=None))
    schema = draw(st.sampled_from(list(LEAVES)))
    value, optional, default = draw(LEAVES[schema]), draw(st.booleans()), draw(st.none() | LEAVES[schema])
    if optional and draw(st.booleans()):
        value = None
    return value, replace(schema, optional=optional, default=default, doc=draw(st.sampled_from(["", "", "d"])))


@st.composite
def structs(draw: st.DrawFn, depth: int = 1) -> tuple[Any, Schema]:
    names = draw(st.lists(_NAMES, unique=True, max_size=4))
    parts = {name: draw(_typed(depth)) for name in names}
    optional = draw(st.booleans())
    schema = struct(
        [(name, schema) for name, (_, schema) in parts.items()], name=draw(st.sampled_from(["", "s"])), optional=optional
    )
    value = None if optional and draw(st.integers(0, 3)) == 0 else {name: value for name, (value, _) in parts.items()}
    return value, schema


_PLAIN = st.one_of(st.none(), st.booleans(), whole(64), st.sampled_from([0.0, 1.5, -2.75, 1e16, 1e-7]), _TEXTS)
_UNTYPED = st.recursive(
    _PLAIN, lambda inner: st.dictionaries(_NAMES, inner, max_size=3) | st.lists(inner, max_size=2), max_leaves=4
)
_FIELDS = st.lists(_NAMED, min_size=1, max_size=3, unique=True).map(",".join)
_TYPES = st.sampled_from(["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"])
_NULLS = {"replace.null.with.default": st.sampled_from(["true", "false"])}
_SYNTAX = {"field.syntax.version": st.sampled_from(["V1", "V2"])}
_FORMATS = st.sampled_from(
    [
        "yyyy-MM-dd",
        "yyyy-MM-dd HH:mm:ss",
        "yyyyMMdd",
        "yy-M-d",
        "dd/MM/yyyy hh:mm a",
        "EEE MMM d",
        "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
        "D",
        "HH",
    ]
)


def _config(required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(required, optional=optional or {})


@st.composite
def _headers_from(draw: st.DrawFn) -> dict[str, str]:
    fields = draw(st.lists(_NAMED, min_size=1, max_size=2, unique=True))
    headers = draw(st.lists(st.sampled_from(["h", "g", "i"]), min_size=len(fields), max_size=len(fields), unique=True))
    return {
        "fields": ",".join(fields),
        "headers": ",".join(headers),
        "operation": draw(st.sampled_from(["copy", "move"])),
        **draw(_config({}, _NULLS)),
    }


_SPECS = st.one_of(
    _TYPES, st.dictionaries(_NAMED, _TYPES, min_size=1, max_size=3).map(lambda of: ",".join(map(":".join, of.items())))
)
_RENAMES = st.dictionaries(_NAMED, st.sampled_from(["a", "r", "q"]), min_size=1, max_size=2).map(
    lambda of: ",".join(map(":".join, of.items()))
)
CONFIGS: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "Cast": _config({"spec": _SPECS}, _NULLS),
    "ExtractField": _config({"field": _NAMED}, {**_NULLS, **_SYNTAX}),
    "Flatten": _config({}, {"delimiter": st.sampled_from([".", "_", ""])}),
    "HeaderFrom": _headers_from(),
    "HoistField": _config({"field": _NAMED}),
    "InsertField": _config(
        {},
        {
            "topic.field": st.sampled_from(["t", "t!", "t?", "a"]),
            "timestamp.field": st.sampled_from(["ts", "ts!", "ts?"]),
            "static.field": st.sampled_from(["s", "s!"]),
            "static.value": st.sampled_from(["v", "1", ""]),
            **_NULLS,
        },
    ),
    "MaskField": _config({"fields": _FIELDS}, {"replacement": st.sampled_from(["7", "x", "-1.5", "300", "0"]), **_NULLS}),
    "ReplaceField": _config({}, {"include": _FIELDS, "exclude": _FIELDS, "renames": _RENAMES, **_NULLS}),
    "SetSchemaMetadata": _config(
        {}, {"schema.name": st.sampled_from(["N", ""]), "schema.version": st.sampled_from(["1", "0"]), **_NULLS}
    ),
    "TimestampConverter": _config(
        {"target.type": st.sampled_from(["string", "unix", "Date", "Time", "Timestamp"])},
        {
            "field": _NAMED,
            "format": _FORMATS,
            "unix.precision": st.sampled_from(["seconds", "milliseconds", "microseconds", "nanoseconds"]),
            **_NULLS,
        },
    ),
}
"""Of those that have $Key and $Value."""
WHOLE: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "DropHeaders": _config({"headers": st.sampled_from(["h", "h,g", "z"])}),
    "Filter": _config({}),
    "InsertHeader": _config(
        {"header": st.sampled_from(["h", "n"]), "value.literal": st.sampled_from(["v", "1", "true", "[1]", "é", '"q"', " p"])}
    ),
    "RegexRouter": _config(
        {
            "regex": st.sampled_from(["(.*)-raw", "(.)(.)(.*)", "t|top", r"(?<n>\w+)-(\d+)", ".*", "(?i)TOP.*", r"\p{Alpha}+-\d+"]),
            "replacement": st.sampled_from(["$1", "x-$2$1", "${n}", "$11", r"\$1", "", "y"]),
        }
    ),
    "TimestampRouter": _config(
        {},
        {
            "topic.format": st.sampled_from(["${topic}-${timestamp}", "x${timestamp}${topic}${topic}", "c", "$1"]),
            "timestamp.format": _FORMATS,
        },
    ),
    "ValueToKey": _config({"fields": _FIELDS}, _NULLS),
    "predicates.HasHeaderKey": _config({"name": st.sampled_from(["h", "z"])}),
    "predicates.RecordIsTombstone": _config({}),
    "predicates.TopicNameMatches": _config({"pattern": st.sampled_from(["top", "top.*", r"t\w+-\d", "(?i)TOP-1"])}),
}
NAMES = [f"{_PACKAGE}{name}" for name in (*(f"{name}${part}" for name in CONFIGS for part in ("Key", "Value")), *WHOLE)]


@st.composite
def givens(draw: st.DrawFn, name: str) -> Given:
    """Records with a transform or predicate of this class name."""
    short = name.removeprefix(_PACKAGE).partition("$")[0]
    has_schemas = draw(st.booleans())
    of: st.SearchStrategy[tuple[Any, Schema | None]] = (
        (_typed(2) | structs() | structs() | structs()) if has_schemas else _UNTYPED.map(lambda value: (value, None))
    )
    if not has_schemas:
        of |= st.dictionaries(_NAMES, _UNTYPED, max_size=4).map(lambda value: (value, None))
    return Given(
        name,
        draw((CONFIGS | WHOLE)[short]),
        draw(of | st.just((None, None))),
        draw(of | st.just((None, None))),
        draw(st.sampled_from(["top", "top-1", "a-raw", "t-raw"])),
        draw(st.none() | _TIMES),
        draw(st.dictionaries(st.sampled_from(["h", "g"]), st.sampled_from(["1", "x", "é"]), max_size=2)),
        has_schemas,
    )
