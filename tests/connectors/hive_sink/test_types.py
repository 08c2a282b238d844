import pytest

from connectors.hive.metastore import addresses_problem, parse_addresses
from connectors.hive.types import hive_type, lowered, schema_of
from connectors.hive_sink.levels import parse_levels, path_problem
from connectors.hive_sink.task import too_long
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, struct, timestamp


@pytest.mark.parametrize(
    "kind",
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp",
        "decimal(12,3)",
        "array<int>",
        "map<string,array<double>>",
        "struct<a:int,b:struct<c:decimal(38,0),d:array<string>>>",
    ],
)
def test_a_type_of_hive_comes_back_from_its_schema(kind: str) -> None:
    assert hive_type(schema_of(kind)) == kind


@pytest.mark.parametrize("kind", ["uniontype<int,string>", "array<int", "struct<a int>", "map<string>", "interval", "decimal(x,1)"])
def test_a_type_that_no_schema_stands_for_is_told(kind: str) -> None:
    with pytest.raises(ValueError, match="no type of Hive that a schema stands for"):
        schema_of(kind)


def test_types_that_hive_lacks_become_the_next_one_that_has_room() -> None:
    columns = struct(
        [
            ("a", Schema(Type.UINT64)),
            ("b", Schema(Type.UUID)),
            ("c", timestamp(Unit.NANOSECONDS)),
            ("d", decimal(2, precision=50)),
            ("e", Schema(Type.TIME)),
        ]
    )
    assert hive_type(columns) == "struct<a:decimal(20,0),b:string,c:bigint,d:string,e:bigint>"


def test_a_text_that_readers_would_see_a_part_of_is_told() -> None:
    columns = schema_of("struct<id:int,code:varchar(3),note:string>")
    rows = [{"id": 1, "code": "abc", "note": "long"}, {"id": 2, "code": "abcd", "note": ""}, {"id": 3, "code": None, "note": None}]
    assert too_long(to_array(rows, columns), columns) == {1: "code abcd is longer than the 3 characters of its column"}


def test_names_are_in_lower_case_and_two_that_become_one_are_refused() -> None:
    named = lowered(struct([("Id", Schema(Type.INT32)), ("At", struct([("X", Schema(Type.INT32))]))]))
    assert hive_type(named) == "struct<id:int,at:struct<x:int>>"
    with pytest.raises(RecordError, match="two fields id"):
        lowered(struct([("Id", Schema(Type.INT32)), ("iD", Schema(Type.INT32))]))
    with pytest.raises(RecordError, match=r"'a\.b' is no name of a column of Hive"):
        lowered(struct([("a.b", Schema(Type.INT32))]))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("country", "is no NAME="),
        ("Country={field:country}", "is no NAME="),
        ("a={field:x}-{yyyy}", "a field stands alone"),
        ("a={field:x}/a={yyyy}", "has the partition column a twice"),
        ("a={second}", "has {second}"),
        ("_a={yyyy}", "begins with _"),
    ],
)
def test_a_path_that_is_none_of_partitions_is_told(path: str, reason: str) -> None:
    assert reason in (path_problem(path) or "")


def test_the_values_of_a_partition_come_back_from_its_folder() -> None:
    levels = parse_levels("country={field:country}/dt={yyyy}-{MM}", "", "UTC")
    assert levels.values("country=a%2Fb%3D%25/dt=2026-07") == ["a/b=%", "2026-07"]
    assert levels.values("dt=2026-07/country=x") is None
    assert levels.values("country=x") is None


def test_addresses_have_the_port_of_metastores_unless_they_say_another() -> None:
    assert parse_addresses("thrift://one, two:9084,thrift://[::1]:99") == [("one", 9083), ("two", 9084), ("::1", 99)]
    assert "http://one is no thrift://HOST:PORT" in (addresses_problem("http://one") or "")
    assert addresses_problem("one:70000") is not None
    assert addresses_problem(" , ") == "names no server"
