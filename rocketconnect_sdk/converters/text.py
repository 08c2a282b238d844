"""Strings and bytes: what StringConverter and ByteArrayConverter of RocketMQ Connect write and read."""

import base64
import codecs
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

from rocketconnect_sdk.columns.compact import Column, Texts
from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import BYTES, STRING, Schema

_UTF8 = "utf-8"
_ENCODING_FIX = "Name a text encoding, such as utf-8, iso-8859-1 or gb18030."


def _unknown_encoding(name: str) -> str | None:
    try:
        codecs.lookup(name)
        "".encode(name)
    except LookupError:
        return "is not a text encoding that Python knows"
    return None


class StringConverter(Converter):
    """Text. Numbers, booleans, dicts and lists are written as JSON writes them; bytes must be text already.

    Dates, times, decimals and UUIDs have the text that the option `columns` reads, in dicts and lists as JSON strings; bytes are
    base64 there.

    Unlike RocketMQ Connect it never replaces what it can't read: bytes that are not of the encoding are a bad record.
    """

    name = "string"
    options = (
        Option("serializer.encoding", "How text becomes bytes.", default="utf-8", check=_unknown_encoding, fix=_ENCODING_FIX),
        Option("deserializer.encoding", "How bytes become text.", default="utf-8", check=_unknown_encoding, fix=_ENCODING_FIX),
    )

    def __init__(self, config: Config, *, is_key: bool) -> None:
        super().__init__(config, is_key=is_key)
        self._written = codecs.lookup(config["serializer.encoding"]).name
        self._read = codecs.lookup(config["deserializer.encoding"]).name

    @classmethod
    def reads_rows(cls, config: Config) -> bool:
        """Text alone. See Converter."""
        del config
        return False

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The text of a value as bytes."""
        del schema
        try:
            return (value if isinstance(value, str) else _text(value)).encode(self._written)
        except UnicodeEncodeError as error:
            msg = f"the text cannot be written as {self._written}: {error.reason} at character {error.start}"
            raise RecordError(msg) from None

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The text that the bytes are."""
        try:
            return data.decode(self._read), STRING
        except UnicodeDecodeError as error:
            msg = f"the bytes are not {self._read}: {error.reason} at byte {error.start}"
            raise RecordError(msg) from None

    def encode_many(self, values: Sequence[object], schema: Schema | None) -> list[bytes]:
        """The same bytes as encode."""
        utf8 = _utf8(values, as_json=True) if self._written == _UTF8 else None
        if utf8 is not None:
            return utf8
        try:
            return [value.encode(self._written) for value in values]  # type: ignore[attr-defined]  # mostly str; else below
        except (AttributeError, UnicodeEncodeError):
            return super().encode_many(values, schema)

    def decode_many(self, data: Sequence[bytes]) -> tuple[Sequence[object], Schema | None]:
        """The same values as decode."""
        try:
            encoding = self._read
            if encoding == _UTF8:
                return Texts.of(data), STRING
            return [item.decode(encoding) for item in data], STRING
        except UnicodeDecodeError as error:
            msg = f"some bytes are not {self._read}: {error.reason} at byte {error.start}"
            raise RecordError(msg) from None


def _utf8(values: Sequence[object], *, as_json: bool) -> list[bytes] | None:
    """The UTF-8 of texts, or the bytes, that are held together; with `as_json` also of whole numbers and truth values."""
    if isinstance(values, Texts):
        return values.utf8
    if not isinstance(values, Column) or values.array.null_count:
        return None
    import pyarrow as pa

    array = values.array
    if pa.types.is_string(array.type) or (as_json and (pa.types.is_integer(array.type) or pa.types.is_boolean(array.type))):
        array = array.cast(pa.string()).cast(pa.binary())
    elif as_json or not pa.types.is_binary(array.type):
        return None
    found: list[bytes] = array.to_pylist()
    return found


def _text(value: object) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            msg = f"the bytes are not text: {error.reason} at byte {error.start}; use the converter bytes"
            raise RecordError(msg) from None
    try:
        if isinstance(value, _TYPED):
            return leaf_text(value)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=leaf_text)
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"a {type(value).__name__} has no text form: {error}"
        raise RecordError(msg) from None


_TYPED = (date, time, Decimal, UUID)


def leaf_text(value: object) -> str:
    """The text of what JSON has not, as the option `columns` reads it again. Raises TypeError: it is none of these."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, UUID):
        return str(value)
    msg = f"{type(value).__name__} is neither JSON nor a date, a time, a decimal, bytes or a UUID"
    raise TypeError(msg)


class BytesConverter(Converter):
    """Bytes as they are. A string is taken as its UTF-8."""

    name = "bytes"

    @classmethod
    def reads_rows(cls, config: Config) -> bool:
        """Bytes alone. See Converter."""
        del config
        return False

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The value itself."""
        del schema
        if isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, str):
            try:
                return value.encode()
            except UnicodeEncodeError as error:
                msg = f"the text cannot be written as UTF-8: {error.reason} at character {error.start}"
                raise RecordError(msg) from None
        msg = f"a {type(value).__name__} is neither bytes nor text; use another converter, such as json"
        raise RecordError(msg)

    def encode_many(self, values: Sequence[object], schema: Schema | None) -> list[bytes]:
        """The same bytes as encode."""
        utf8 = _utf8(values, as_json=False)
        return super().encode_many(values, schema) if utf8 is None else utf8

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The bytes themselves."""
        return data, BYTES

    def decode_many(self, data: Sequence[bytes]) -> tuple[list[object], Schema | None]:
        """The bytes themselves."""
        return list(data), BYTES
