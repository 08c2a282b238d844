"""Numbers as RocketMQ Connect's ShortConverter, IntegerConverter, LongConverter, FloatConverter and DoubleConverter write them.

Each is its bytes in network order (big-endian, two's complement, IEEE 754), 2, 4 or 8 of them. Read in
org.apache.rocketmq.connect.runtime.serialization, commit 85da68c.
"""

import struct
from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema, Type

_KINDS = {str: "text", bool: "true or false", float: "a number with a point", dict: "a row", list: "a list", bytes: "bytes"}


class _NumberConverter(Converter):
    form: ClassVar[struct.Struct]
    schema: ClassVar[Schema]

    @classmethod
    def reads_rows(cls, config: Config) -> bool:
        """Numbers alone. See Converter."""
        del config
        return False

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The bytes of a number. A bool is none, and an int is also a float."""
        del schema
        wanted = (int,) if self.form.format[-1] in "hiq" else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted):
            msg = f"it writes numbers alone, and {_KINDS.get(type(value), 'this')} is no {self.name}"
            raise RecordError(msg)
        try:
            return self.form.pack(value)
        except (struct.error, OverflowError):
            msg = f"the number is too large for a {self.name} of {self.form.size} bytes"
            raise RecordError(msg) from None

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The number."""
        if len(data) != self.form.size:
            msg = f"a {self.name} has {self.form.size} bytes, not {len(data)}"
            raise RecordError(msg)
        return self.form.unpack(data)[0], self.schema

    def encode_many(self, values: Sequence[object], schema: Schema | None) -> list[bytes]:
        """The same bytes as encode."""
        size, many = self.form.size, f">{len(values)}{self.form.format[-1]}"
        values = list(values)
        if set(map(type, values)) == {int if self.form.format[-1] in "hiq" else float}:
            try:
                data = struct.pack(many, *values)
                return [data[at : at + size] for at in range(0, len(data), size)]
            except (struct.error, OverflowError):
                # At least one is too large: encode says so.
                pass
        return super().encode_many(values, schema)

    def decode_many(self, data: Sequence[bytes]) -> tuple[Sequence[object], Schema | None]:
        """The same values as decode."""
        if not data or set(map(len, data)) != {self.form.size}:
            return super().decode_many(data)
        return list(struct.unpack(f">{len(data)}{self.form.format[-1]}", b"".join(data))), self.schema


class ShortConverter(_NumberConverter):
    """Whole numbers in 2 bytes."""

    name, form, schema = "short", struct.Struct(">h"), Schema(Type.INT16)


class IntegerConverter(_NumberConverter):
    """Whole numbers in 4 bytes."""

    name, form, schema = "integer", struct.Struct(">i"), Schema(Type.INT32)


class LongConverter(_NumberConverter):
    """Whole numbers in 8 bytes."""

    name, form, schema = "long", struct.Struct(">q"), Schema(Type.INT64)


class FloatConverter(_NumberConverter):
    """Floating point numbers in 4 bytes."""

    name, form, schema = "float", struct.Struct(">f"), Schema(Type.FLOAT32)


class DoubleConverter(_NumberConverter):
    """Floating point numbers in 8 bytes."""

    name, form, schema = "double", struct.Struct(">d"), Schema(Type.FLOAT64)
