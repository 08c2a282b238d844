"""The workload for MariaDB. Pure."""

from tests.fidelity.workload import END, LARGE, Workload, common, inserts, single_rows, singles, typed, updates

_SIGNED = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}

TYPED = {
    **{f"{kind.lower()}_": (kind, [str(-(1 << bits - 1)), str((1 << bits - 1) - 1), "0", "-1"]) for kind, bits in _SIGNED.items()},
    **{f"u_{kind.lower()}": (f"{kind} UNSIGNED", ["0", str((1 << min(bits, 63)) - 1)]) for kind, bits in _SIGNED.items()},
    "bool_": ("BOOLEAN", ["TRUE", "FALSE"]),
    "float_": ("FLOAT", ["1.5", "-3.25e10"]),
    "double_": ("DOUBLE", ["0.1", "-1.7976931348623157e308", "5e-324"]),
    "decimal_": ("DECIMAL(10, 2)", ["-99999999.99", "99999999.99", "0.00", "0.01"]),
    "decimal_65": ("DECIMAL(65, 30)", [f"-{'9' * 35}.{'9' * 30}", "0.000000000000000000000000000001", "12"]),
    "decimal_0": ("DECIMAL(38, 0)", ["9" * 38, "-" + "9" * 38]),
    "bit_1": ("BIT(1)", ["b'1'", "b'0'"]),
    "bit_9": ("BIT(9)", ["b'100000001'", "b'11'"]),
    "bit_64": ("BIT(64)", ["x'FFFFFFFFFFFFFFFF'", "x'8000000000000001'", "0"]),
    "char_": ("CHAR(10)", ["'padded   '", "''", "'ä€😀'"]),
    "varchar_": ("VARCHAR(100)", ["'it''s'", "''", "'trailing  '", r"'nul \0 in it'"]),
    "latin_": ("VARCHAR(10) CHARACTER SET latin1", ["'Müller'", "'€'"]),
    "text_": ("LONGTEXT", ["REPEAT('long ', 20000)", "''"]),
    "varbinary_": ("VARBINARY(10)", ["x'00FF00'", "x''"]),
    "binary_": ("BINARY(4)", ["x'01020304'", "x'FF'"]),
    "blob_": ("BLOB", ["x'0001FE'", "x''"]),
    "date_": ("DATE", ["'2024-02-29'", "'1000-01-01'", "'9999-12-31'", "'1969-12-31'"]),
    "datetime_": ("DATETIME", ["'2024-02-29 23:59:59'", "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'"]),
    "datetime_3": ("DATETIME(3)", ["'2024-02-29 23:59:59.123'", "'1969-12-31 23:59:59.999'"]),
    "datetime_6": ("DATETIME(6)", ["'2024-02-29 23:59:59.123456'", "'1969-12-31 23:59:59.999999'"]),
    "timestamp_": ("TIMESTAMP NULL", ["'2024-02-29 23:59:59'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"]),
    "timestamp_6": ("TIMESTAMP(6) NULL", ["'2024-02-29 23:59:59.123456'", "'1970-01-01 00:00:01.000001'"]),
    "time_": ("TIME", ["'23:59:59'", "'00:00:00'"]),
    "time_6": ("TIME(6)", ["'12:34:56.789012'", "'00:00:00.000001'"]),
    "year_": ("YEAR", ["1901", "2155"]),
    "enum_": ("ENUM('a', 'b''c', 'ä')", ["'a'", "'b''c'", "'ä'"]),
    "set_": ("SET('x', 'y', 'z')", ["'x,z'", "''", "'x,y,z'"]),
    "json_": ("JSON", ["""'{"a": [1, 2.50, null, "ä"]}'""", "'[]'", "'null'"]),
    "uuid_": ("UUID", ["'00112233-4455-6677-8899-aabbccddeeff'"]),
    "point_": ("POINT", ["ST_GeomFromText('POINT(1 -2.5)')", "ST_GeomFromText('POINT(1 2)', 4326)"]),
    "line_": ("LINESTRING", ["ST_GeomFromText('LINESTRING(0 0, 1 1, 2 0)')"]),
    "geometry_": ("GEOMETRY", ["ST_GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')"]),
}
"""Columns on whose values both agree."""

SURPRISES = {
    "u_largest": ("BIGINT UNSIGNED", ["18446744073709551615"]),
    "uuid_0": ("UUID", ["'00112233-4455-6677-8899-aabbccddee00'"]),
    "zero_timestamp": ("TIMESTAMP NULL", ["'0000-00-00 00:00:00'"]),
    "zero_date": ("DATE", ["'0000-00-00'"]),
    "zero_datetime": ("DATETIME", ["'0000-00-00 00:00:00'"]),
    "no_day": ("DATE", ["'2024-00-10'"]),
    "long_time": ("TIME", ["'-838:59:59'"]),
    "short_time": ("TIME(6)", ["'-00:00:00.000001'"]),
}
"""Columns of which Debezium says something else than what they hold."""

_COMMON = common(f"seq_1_to_{LARGE}")
WORKLOAD = Workload(
    tables=[
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
        *typed("typed", TYPED),
        *typed("surprises", SURPRISES),
        *singles(SURPRISES),
        "CREATE TABLE unsigned_key (id BIGINT UNSIGNED PRIMARY KEY)",
        "CREATE TABLE zero_year (id INT PRIMARY KEY, year YEAR)",
        *_COMMON.tables,
    ],
    changes=[
        *inserts("typed", TYPED, 11),
        *updates("typed", TYPED, 11),
        "DELETE FROM typed",
        *inserts("surprises", SURPRISES, 11),
        *single_rows(SURPRISES, 11),
        "INSERT INTO unsigned_key VALUES (18446744073709551615)",
        "INSERT INTO zero_year VALUES (1, 0)",
        *_COMMON.changes,
        f"INSERT INTO {END} VALUES (1)",
    ],
)
