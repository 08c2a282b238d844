"""JSON in the form of RocketMQ Connect's JsonConverter (read at commit 85da68c), so that each reads what the other wrote.

With schemas.enable=true (the default there, too) a message is an envelope, {"schema": {...}, "payload": ...}, and dates, times and
decimals are what Kafka Connect has for them. Without, it is the payload alone, for people and other programs: dates and times are
texts as ISO 8601 has them, decimals are numbers.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.converters.json.forms import Decimals, Form
from rocketconnect_sdk.converters.json.names import check_twice
from rocketconnect_sdk.converters.json.reading import NotJson, why
from rocketconnect_sdk.converters.json.schema import read_json, to_json
from rocketconnect_sdk.converters.json.types import Names
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Field, Schema

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


_ABSENT = msgspec.Raw(b"null")
"""Writers that leave out nulls leave out the one or the other of an envelope."""

_AROUND = len(b'{"schema":,"payload":}')
"""Who writes each of the two once, and no white space, writes so many bytes beside them."""


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    # A field beside them is content of an object that is no envelope: it would be lost.
    schema: msgspec.Raw = _ABSENT
    payload: msgspec.Raw = _ABSENT


class _Newest(OrderedDict[_K, _V]):
    """Keeps the entries that were used last, at most so many."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def of(self, key: _K, make: Callable[[], _V]) -> _V:
        try:
            value = self[key]
        except KeyError:
            value = self[key] = make()
            if len(self) > self._size:
                self.popitem(last=False)
        else:
            self.move_to_end(key)
        return value


class JsonConverter(Converter):
    """JSON, with its schema in each message or without one."""

    name = "json"
    wants_columns = True
    options = (
        Option("schemas.enable", "Each message carries its schema: {schema, payload}.", Kind.BOOL, "true"),
        Option("schemas.cache.size", "How many schemas are remembered.", Kind.INT, "1000", minimum=1, maximum=1_000_000),
        Option(
            "decimal.format",
            "How decimals are written: NUMERIC, as numbers; BASE64 of the unscaled value; TEXT, without schemas. Empty: BASE64 "
            "with schemas, which reads NUMERIC too; NUMERIC without, where the option columns reads NUMERIC and TEXT.",
            default="",
            check=lambda text: None if text.upper() in ("", *Decimals.__members__) else "is none of BASE64, NUMERIC and TEXT",
            fix="Give BASE64, NUMERIC or TEXT.",
        ),
        Option(
            "names",
            "Whose names the schemas have for decimals, dates, times and timestamps: rocketmq or kafka. Both are read.",
            default=Names.ROCKETMQ.value,
            choices=[names.value for names in Names],
        ),
        Option(
            "replace.null.with.default",
            "A null is written and read as the default of its schema; false: it stays a null, and is bad in what is required.",
            Kind.BOOL,
            "true",
        ),
    )

    def __init__(self, config: Config, *, is_key: bool) -> None:
        super().__init__(config, is_key=is_key)
        self._enveloped: bool = config["schemas.enable"]
        said = config["decimal.format"].upper() or ("BASE64" if self._enveloped else "NUMERIC")
        self._form = Form(Decimals(said), is_plain=not self._enveloped)
        self._names = Names(config["names"])
        self._keeps_null = not config["replace.null.with.default"]
        size: int = config["schemas.cache.size"]
        self._writers: _Newest[Schema | None, tuple[bytes, Values]] = _Newest(size)
        self._readers: _Newest[bytes, tuple[Schema | None, Values]] = _Newest(size)
        self._envelopes = msgspec.json.Decoder(_Envelope)
        self._fix = f"without envelopes set {'key' if is_key else 'value'}.converter.schemas.enable=false"
        self._untyped = Values(None)

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Converter."""
        if config["schemas.enable"] and config["decimal.format"].upper() == Decimals.TEXT.value:
            why = "is for JSON without schemas: beside a schema, text is the base64 of a decimal"
            yield Problem("decimal.format", config["decimal.format"], why, "Give BASE64 or NUMERIC, or schemas.enable=false.")

    @classmethod
    def reads_rows(cls, config: Config) -> bool:
        """Only envelopes have a schema. See Converter."""
        return bool(config["schemas.enable"])

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The JSON of a value."""
        prefix, values = self._writers.of(schema, lambda: self._writer(schema))
        payload = values.encode(value)
        return b"%b%b}" % (prefix, payload) if self._enveloped else payload

    def encode_many(self, values: Sequence[object], schema: Schema | None) -> list[bytes]:
        """The same bytes as encode."""
        prefix, writer = self._writers.of(schema, lambda: self._writer(schema))
        payloads = writer.encode_many(values)
        return [b"%b%b}" % (prefix, payload) for payload in payloads] if self._enveloped else payloads

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The value of JSON, and the schema of its envelope."""
        if not self._enveloped:
            return self._untyped.decode(data), None
        envelope = self._open(data)
        schema, values = self._readers.of(bytes(envelope.schema), lambda: self._reader(bytes(envelope.schema)))
        return values.decode(envelope.payload), schema

    def decode_many(self, data: Sequence[bytes]) -> tuple[Sequence[object], Schema | None]:
        """The same values as decode."""
        if not self._enveloped or not data:
            return self._untyped.decode_many(data, 0, None), None
        # The schema stands before the payload, and is the same text in all: what follows it is decoded at once. Whatever stands
        # between the prefix and the last brace must be one JSON value, so nothing passes here that decode would refuse.
        first = self._open(data[0])
        prefix = b'{"schema":%b,"payload":' % bytes(first.schema)
        schema, values = self._readers.of(bytes(first.schema), lambda: self._reader(bytes(first.schema)))
        if all(item.startswith(prefix) and item.endswith(b"}") for item in data):
            return values.decode_many(data, len(prefix), -1), schema
        return super().decode_many(data)

    def decode_rows(self, data: Sequence[bytes], columns: Schema) -> Any:
        """Without envelopes, where each is plainly an object of these columns."""
        if self._enveloped:
            return None
        from rocketconnect_sdk.columns.objects import rows_of_bytes

        return rows_of_bytes(data, columns)

    def _open(self, data: bytes) -> _Envelope:
        try:
            envelope = self._envelopes.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            msg = f"no envelope {{schema, payload}}: {why(error, data)}; {self._fix}"
            raise RecordError(msg) from None
        if envelope.schema is _ABSENT and envelope.payload is _ABSENT:
            msg = f"no envelope {{schema, payload}}: the object has neither; {self._fix}"
            raise RecordError(msg)
        is_whole = envelope.schema is not _ABSENT and envelope.payload is not _ABSENT
        if not is_whole or len(data) != _AROUND + len(bytes(envelope.schema)) + len(bytes(envelope.payload)):
            check_twice(data)
        return envelope

    def _writer(self, schema: Schema | None) -> tuple[bytes, Values]:
        try:
            form = msgspec.json.encode(None if schema is None else to_json(schema, self._names))
            return b'{"schema":%b,"payload":' % form, self._values(schema)
        except (RecursionError, TypeError, ValueError) as error:
            msg = f"the schema cannot be written as JSON: {str(error)[:500]}"
            raise RecordError(msg) from None

    def _reader(self, text: bytes) -> tuple[Schema | None, Values]:
        try:
            schema = read_json(text)
            return schema, self._values(schema)
        except (NotJson, RecursionError, ArithmeticError, TypeError, ValueError) as error:
            msg = f"the schema of the envelope is wrong: {str(error)[:500]}"
            raise RecordError(msg) from None

    def _values(self, schema: Schema | None) -> Values:
        if schema is None:
            return self._untyped
        if self._keeps_null:
            schema = _without_defaults(schema)
        return Values(schema, self._form)


def _without_defaults(schema: Schema) -> Schema:
    """The schema by which a null is a null, in it and in all its parts."""
    return replace(
        schema,
        default=None,
        fields=tuple(Field(field.name, _without_defaults(field.schema)) for field in schema.fields),
        items=schema.items and _without_defaults(schema.items),
        keys=schema.keys and _without_defaults(schema.keys),
    )
