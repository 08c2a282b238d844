"""What PostgreSQL's types are here: one table of type -> schema and converter.

OIDs of built-in types never change: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat. All others
have one of their own in each database; catalog.py looks them up.

  PostgreSQL                                 schema            value
  boolean, smallint, integer, bigint, oid    boolean, int16, int32, int64, uint32
  real, double precision                     float32, float64  also NaN and infinity
  numeric(p,s) with 0 <= s <= p <= 76        decimal           also NaN and infinity
  all other numeric                          string            its digits
  money                                      decimal
  text, varchar, char, name, citext, enums   string
  bytea; geometry, geography of PostGIS      bytes             of the latter EWKB
  date, time, timestamp, timestamptz         the same          or Beyond
  interval                                   struct            of months, days and microseconds, or Beyond
  uuid, json, jsonb                          uuid, json
  hstore                                     map               of strings
  domains                                    as what they are over
  arrays                                     array             of several dimensions lists in lists, for which there is no schema
  all others                                 string            as PostgreSQL writes it

All others are for instance timetz, bit, xml, inet, cidr, macaddr, ranges, composites, and types of geometry and text search.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from uuid import UUID

from connectors.postgres_cdc_source.logical.wire import scalars
from connectors.postgres_cdc_source.logical.wire.literals import read_array, read_hstore
from rocketconnect_sdk.schema import Schema, Type, decimal, struct, text, timestamp

Convert = Callable[[str], object]

NUMERIC, DIGITS = 1700, 76
MONEY = (790, 791)
"""Amounts, and arrays of them."""
_MONEY_DIGITS = 19


@dataclass(frozen=True, slots=True)
class PgType:
    """A type of column values.

    Attributes:
        schema: What its values are; each may be null.
        convert: Makes the value of a text; when it raises ValueError, LookupError or ArithmeticError, `careful` is asked. None: the
            text is the value.
        careful: Makes the value of any text of the type, or raises one of these. None: as `convert`.
        short: Its texts are ASCII and of at most 255 characters.
    """

    schema: Schema
    convert: Convert | None = None
    careful: Convert | None = None
    short: bool = False

    def read(self, text: str) -> object:
        """The value of any text. Raises ValueError, LookupError or ArithmeticError: there is none."""
        read = self.careful or self.convert
        return text if read is None else read(text)


def _plain(kind: Type) -> Schema:
    return Schema(kind, optional=True)


INTERVAL = struct(
    [("months", Schema(Type.INT32)), ("days", Schema(Type.INT32)), ("microseconds", Schema(Type.INT64))],
    name="rocketconnect.postgres.Interval",
    optional=True,
)
TEXT = PgType(_plain(Type.STRING))
"""Also what stands for every type that is not known."""
HSTORE = PgType(Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), items=_plain(Type.STRING)), read_hstore)
GEOMETRY = PgType(_plain(Type.BYTES), bytes.fromhex)

_TYPES: dict[int, tuple[PgType, int]] = {
    # OID: the type, and the OID of arrays of it
    16: (PgType(_plain(Type.BOOLEAN), scalars.BOOLEANS.__getitem__, short=True), 1000),
    17: (PgType(_plain(Type.BYTES), scalars.binary), 1001),
    18: (TEXT, 1002),  # "char"
    19: (TEXT, 1003),  # name
    20: (PgType(_plain(Type.INT64), int, short=True), 1016),
    21: (PgType(_plain(Type.INT16), int, short=True), 1005),
    23: (PgType(_plain(Type.INT32), int, short=True), 1007),
    25: (TEXT, 1009),
    26: (PgType(_plain(Type.UINT32), int, short=True), 1028),  # oid
    114: (PgType(_plain(Type.JSON)), 199),
    142: (TEXT, 143),  # xml
    600: (TEXT, 1017),  # point
    650: (TEXT, 651),  # cidr
    700: (PgType(_plain(Type.FLOAT32), scalars.float32, short=True), 1021),
    701: (PgType(_plain(Type.FLOAT64), float, short=True), 1022),
    774: (TEXT, 775),  # macaddr8
    829: (TEXT, 1040),  # macaddr
    869: (TEXT, 1041),  # inet
    1042: (TEXT, 1014),  # char(n)
    1043: (TEXT, 1015),  # varchar
    1082: (PgType(_plain(Type.DATE), date.fromisoformat, scalars.day, short=True), 1182),
    1083: (PgType(_plain(Type.TIME), time.fromisoformat, scalars.clock, short=True), 1183),
    1114: (PgType(timestamp(zone=False, optional=True), datetime.fromisoformat, scalars.moment, short=True), 1115),
    1184: (PgType(timestamp(optional=True), datetime.fromisoformat, scalars.moment, short=True), 1185),
    1186: (PgType(INTERVAL, scalars.interval, short=True), 1187),
    1266: (TEXT, 1270),  # timetz
    1560: (TEXT, 1561),  # bit
    1562: (TEXT, 1563),  # varbit
    NUMERIC: (TEXT, 1231),
    790: (TEXT, 791),  # with its digits: see builtin
    2950: (PgType(_plain(Type.UUID), UUID, short=True), 2951),
    3802: (PgType(_plain(Type.JSON)), 3807),  # jsonb
}
_LIMITED = frozenset({1042, 1043})
"""char(n) and varchar(n)."""
_HEAD = 4
"""Modifiers are so much more than what they say."""
_ELEMENTS = {array: oid for oid, (_, array) in _TYPES.items()}


def builtin(oid: int, modifier: int, money_scale: int) -> PgType | None:
    """A built-in type.

    Args:
        oid: Its OID.
        modifier: What the column says besides: the digits of a numeric, the length of a text; -1: nothing.
        money_scale: How many digits behind the point the server's currency has.

    Returns:
        None: it is none of those in the table.
    """
    if oid in _ELEMENTS:
        element = builtin(_ELEMENTS[oid], modifier, money_scale)
        return element and array_of(element)
    if oid == NUMERIC:
        return _numeric(modifier)
    if oid == 790:
        schema = decimal(money_scale, precision=_MONEY_DIGITS, optional=True)
        return PgType(schema, partial(scalars.money, scale=money_scale), short=True)
    found = _TYPES.get(oid)
    if found is not None and oid in _LIMITED and modifier > _HEAD:
        return replace(found[0], schema=text(modifier - _HEAD, optional=True))
    return found and found[0]


def array_of(element: PgType, delimiter: str = ",") -> PgType:
    """Arrays of a type."""
    schema = Schema(Type.ARRAY, optional=True, items=replace(element.schema, optional=True))
    return PgType(schema, partial(read_array, read=element.read, delimiter=delimiter))


def _numeric(modifier: int) -> PgType:
    """Made of the modifier as numeric.c does: the precision in the upper 16 bits, the scale in the lower 11, with a sign."""
    precision = modifier - 4 >> 16 & 0xFFFF
    scale = (modifier - 4 & 0x7FF ^ 1024) - 1024
    if modifier < 4 or not 0 <= scale <= precision <= DIGITS:
        return TEXT
    return PgType(decimal(scale, precision=precision, optional=True), Decimal, short=True)
