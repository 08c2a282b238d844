"""Numbers as RocketMQ Connect's ShortConverter, IntegerConverter, LongConverter, FloatConverter and DoubleConverter write them.

Each is its bytes in network order (big-endian, two's complement, IEEE 754), 2, 4 or 8 of them. Read in
org.apache.rocketmq.connect.runtime.serialization, commit 85da68c.
"""

import struct
from typing import ClassVar

from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type


class _NumberConverter(Converter):
    form: ClassVar[struct.Struct]
    type: ClassVar[Type]

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The bytes of a number. A bool is none, and an int is also a float."""
        del schema
        wanted = (int,) if self.form.format[-1] in "hiq" else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted):
            msg = f"a {type(value).__name__} is no {self.name}"
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
        return self.form.unpack(data)[0], Schema(self.type)


class ShortConverter(_NumberConverter):
    """Whole numbers in 2 bytes."""

    name, form, type = "short", struct.Struct(">h"), Type.INT16


class IntegerConverter(_NumberConverter):
    """Whole numbers in 4 bytes."""

    name, form, type = "integer", struct.Struct(">i"), Type.INT32


class LongConverter(_NumberConverter):
    """Whole numbers in 8 bytes."""

    name, form, type = "long", struct.Struct(">q"), Type.INT64


class FloatConverter(_NumberConverter):
    """Floating point numbers in 4 bytes."""

    name, form, type = "float", struct.Struct(">f"), Type.FLOAT32


class DoubleConverter(_NumberConverter):
    """Floating point numbers in 8 bytes."""

    name, form, type = "double", struct.Struct(">d"), Type.FLOAT64
