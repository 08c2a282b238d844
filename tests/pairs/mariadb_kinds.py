"""All types of MariaDB."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.pairs.kinds import FLOATS, JSON, SINGLES, Kind, decimals, text, whole

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00")
_MOMENTS = st.datetimes(min_value=datetime.fromisoformat("1000-01-01")).map(str)
_POINTS_IN_TIME = st.integers(86_400_000_000, 2_145_000_000_000_000).map(lambda us: str(_EPOCH + timedelta(microseconds=us)))
_TIMES = st.times().map(lambda time: time.isoformat("microseconds"))


def _time(value: Any) -> Any:
    return (_EPOCH + value).time()


def _utc(value: Any) -> Any:
    return value.replace(tzinfo=UTC)


def _bits(value: Any) -> int:
    return int.from_bytes(value, "big")


def _geometry(value: Any) -> bytes:
    # The number of the reference system comes first.
    return bytes(value)[4:]


MARIADB: Mapping[str, Kind] = {
    "TINYINT": Kind("TINYINT", whole(8)),
    "TINYINT(1)": Kind("TINYINT(1)", whole(8)),
    "TINYINT UNSIGNED": Kind("TINYINT UNSIGNED", whole(8, unsigned=True)),
    "SMALLINT": Kind("SMALLINT", whole(16)),
    "SMALLINT UNSIGNED": Kind("SMALLINT UNSIGNED", whole(16, unsigned=True)),
    "MEDIUMINT": Kind("MEDIUMINT", whole(24)),
    "MEDIUMINT UNSIGNED": Kind("MEDIUMINT UNSIGNED", whole(24, unsigned=True)),
    "INT": Kind("INT", whole(32)),
    "INT UNSIGNED": Kind("INT UNSIGNED", whole(32, unsigned=True)),
    "BIGINT": Kind("BIGINT", whole(64)),
    "BIGINT UNSIGNED": Kind("BIGINT UNSIGNED", whole(64, unsigned=True)),
    "YEAR": Kind("YEAR", st.just(0) | st.integers(1901, 2155)),
    "DECIMAL(10,2)": Kind("DECIMAL(10,2)", decimals(10, 2)),
    "DECIMAL(38,38)": Kind("DECIMAL(38,38)", decimals(38, 38)),
    "DECIMAL(65,30)": Kind("DECIMAL(65,30)", decimals(65, 30)),
    "FLOAT": Kind("FLOAT", SINGLES, select="CAST({} AS DOUBLE)"),
    "DOUBLE": Kind("DOUBLE", FLOATS),
    "BIT(1)": Kind("BIT(1)", st.integers(0, 1), lambda value: bool(_bits(value))),
    "BIT(10)": Kind("BIT(10)", st.integers(0, 1023), _bits),
    "BIT(64)": Kind("BIT(64)", whole(64, unsigned=True), _bits),
    "DATE": Kind("DATE", st.dates(min_value=datetime.fromisoformat("1000-01-01").date())),
    "DATETIME": Kind("DATETIME", _MOMENTS),
    "DATETIME(3)": Kind("DATETIME(3)", _MOMENTS),
    "DATETIME(6)": Kind("DATETIME(6)", _MOMENTS),
    "TIMESTAMP": Kind("TIMESTAMP NULL", _POINTS_IN_TIME, _utc),
    "TIMESTAMP(6)": Kind("TIMESTAMP(6) NULL", _POINTS_IN_TIME, _utc),
    "TIME": Kind("TIME", _TIMES, _time),
    "TIME(6)": Kind("TIME(6)", _TIMES, _time),
    "CHAR(20)": Kind("CHAR(20)", text(20)),
    "VARCHAR(50)": Kind("VARCHAR(50)", text(50)),
    "VARCHAR(50) latin1": Kind("VARCHAR(50) CHARACTER SET latin1", text(50, "cp1252")),
    "VARCHAR(50) utf16": Kind("VARCHAR(50) CHARACTER SET utf16", text(50)),
    "TEXT": Kind("TEXT", text(300)),
    "LONGTEXT": Kind("LONGTEXT", text(300)),
    "ENUM": Kind("ENUM('a','b''é','x y')", st.sampled_from(["a", "b'é", "x y"])),
    "SET": Kind("SET('a','b''é','x y')", st.lists(st.sampled_from(["a", "b'é", "x y"]), unique=True).map(",".join)),
    "BINARY(20)": Kind("BINARY(20)", st.binary(max_size=20)),
    "VARBINARY(300)": Kind("VARBINARY(300)", st.binary(max_size=300)),
    "BLOB": Kind("BLOB", st.binary(max_size=1000)),
    "JSON": Kind("JSON", JSON.map(json.dumps)),
    "UUID": Kind("UUID", st.uuids(version=4).map(str)),
    "INET4": Kind("INET4", st.ip_addresses(v=4).map(str)),
    "INET6": Kind("INET6", st.ip_addresses(v=6).map(str)),
    "POINT": Kind(
        "POINT",
        st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(lambda point: f"POINT({point[0]} {point[1]})"),
        _geometry,
        place="ST_GeomFromText(%s, 4326)",
    ),
    "GEOMETRY": Kind(
        "GEOMETRY",
        st.sampled_from(["LINESTRING(0 0,1 1)", "POLYGON((0 0,1 0,1 1,0 0))", "GEOMETRYCOLLECTION(POINT(1 2))"]),
        _geometry,
        place="ST_GeomFromText(%s)",
    ),
}
