"""Whole numbers as floating point numbers, which hold few of the large ones: the same number, or none."""

import struct
from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from rocketconnect_sdk.schema import Type

CERTAIN: Mapping[Type, float] = {Type.FLOAT32: 2.0**24, Type.FLOAT64: 2.0**53}
"""Every whole number below it, and above its negative, is one of the type."""
_BITS = {Type.FLOAT32: 32, Type.FLOAT64: 64}


def float_of(number: int, kind: Type) -> float:
    """A whole number as one of a floating point type: it is one, or its digits are those that such a one is written with.

    (2^60 is 1152921504606846976, and JavaScript writes 1152921504606847000 for it.)

    Raises:
        ValueError, OverflowError: it would be another number.
    """
    found = float(number)
    if -CERTAIN[kind] < found < CERTAIN[kind]:
        return found
    if kind is Type.FLOAT32:
        found = struct.unpack("f", struct.pack("f", found))[0]
    if found != number and Decimal(str(np.float32(found) if kind is Type.FLOAT32 else found)) != number:
        fix = "make it int64, decimal or string"
        msg = f"{str(number)[:40]} would be another number in the {_BITS[kind]} bits of a {kind.value}: {fix}"
        raise ValueError(msg)
    return found
