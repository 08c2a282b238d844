"""Which types have every value of others, and the smallest one that has those of two. Pure."""

from dataclasses import replace

from rocketconnect_sdk.schema import DIGITS, WHOLE, Schema, Type, Unit

FLOATS = {Type.FLOAT32: 24, Type.FLOAT64: 53}
"""So many bits every whole number keeps."""
NUMBERS = frozenset({*WHOLE, *FLOATS, Type.DECIMAL})
_TEXTS = frozenset({Type.UUID, Type.JSON})
_UNITS = list(Unit)


def has_all(of: Schema, values_of: Schema) -> bool:
    """Whether a type has every value of another one, nulls aside. Of structs, arrays and maps their own types are compared alone.

    Of times the finer unit has all, though a timestamp of nanoseconds ends in the year 2262.
    """
    if of.type in NUMBERS and values_of.type in NUMBERS:
        return _has_numbers(of, values_of)
    if of.type is Type.STRING and values_of.type in _TEXTS:
        return True
    if of.type is not values_of.type:
        return False
    if of.type is Type.TIMESTAMP and of.zone != values_of.zone:
        return False
    return _UNITS.index(of.unit) >= _UNITS.index(values_of.unit) if of.type in (Type.TIME, Type.TIMESTAMP) else True


def joined(one: Schema, other: Schema) -> Schema | None:
    """The first with the smallest type that has all values of both; None: there is none."""
    if has_all(one, other):
        return one
    if has_all(other, one):
        return replace(
            one, type=other.type, precision=other.precision, scale=other.scale, unit=other.unit, default=None, parameters=()
        )
    made = _joined_numbers(one, other)
    return None if made is None else replace(made, optional=one.optional, name=one.name, version=one.version, doc=one.doc)


def _joined_numbers(one: Schema, other: Schema) -> Schema | None:
    if one.type in WHOLE and other.type in WHOLE:
        low = min(WHOLE[one.type][0], WHOLE[other.type][0])
        high = max(WHOLE[one.type][1], WHOLE[other.type][1])
        fitting = [kind for kind, (least, largest) in WHOLE.items() if least <= low and high <= largest]
        return Schema(fitting[0]) if fitting else Schema(Type.DECIMAL, precision=20)
    if {one.type, other.type} <= {*WHOLE, Type.DECIMAL}:
        (whole, scale), (others, of_other) = _digits(one), _digits(other)
        precision = max(whole, others) + max(scale, of_other)
        return Schema(Type.DECIMAL, precision=precision, scale=max(scale, of_other)) if precision <= DIGITS else None
    double = Schema(Type.FLOAT64)
    return double if has_all(double, one) and has_all(double, other) else None


def _digits(schema: Schema) -> tuple[int, int]:
    """Before and behind the point."""
    if schema.type is Type.DECIMAL:
        return schema.precision - schema.scale, schema.scale
    return len(str(max(map(abs, WHOLE[schema.type])))), 0


def _has_numbers(of: Schema, values_of: Schema) -> bool:
    if values_of.type in FLOATS:
        return FLOATS.get(of.type, 0) >= FLOATS[values_of.type]
    if of.type is Type.DECIMAL:
        return all(mine >= others for mine, others in zip(_digits(of), _digits(values_of), strict=True))
    if values_of.type is Type.DECIMAL:
        return False
    low, high = WHOLE[values_of.type]
    if of.type in FLOATS:
        return max(-low, high) <= 1 << FLOATS[of.type]
    least, largest = WHOLE[of.type]
    return least <= low and high <= largest
