"""sql makes of each record what a SELECT makes of it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar
from uuid import UUID

import pytest

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct
from rocketconnect_sdk.transforms import Record, Records
from rocketconnect_sdk.transforms.chain import make
from rocketconnect_sdk.transforms.row_sql import parse
from tests.suites import slow_but

NUMBER = Schema(Type.INT64)
TEXT = Schema(Type.STRING, optional=True)
PRICE = decimal(2, precision=10)
ITEM = struct([("id", NUMBER), ("name", STRING), ("price", PRICE), ("of", Schema(Type.UUID))], name="item")
VALUE = {"id": 1, "name": "ada", "price": Decimal("1.50"), "of": UUID(int=7)}


def query(text: str, **more: str) -> dict[str, str]:
    return {"query": text, **more}


@slow_but("test_each_example_becomes_what_it_should", "test_columns_become_what_rows_become", "test_wrong_options_are_refused")
class TestSql(TransformSuite):
    transform: ClassVar[str] = "sql"
    wrong: ClassVar = [
        ({}, "transforms.x.query"),
        (query("SELEC x"), "is not one SELECT"),
        (query("SELECT a FROM"), "transforms.x.query: is not valid SQL"),
        (query("SELECT a FROM others"), "does not select from the table records: others"),
        (query("SELECT 1"), "does not select from the table records"),
        (query("SELECT count(*) FROM records"), "has an aggregate"),
        (query("SELECT a FROM records JOIN records"), "has a JOIN"),
        (query("SELECT a FROM records LIMIT 1"), "has LIMIT"),
        (query("SELECT a FROM records ORDER BY a"), "has ORDER BY"),
        (query("SELECT DISTINCT a FROM records"), "has DISTINCT"),
        (query("SELECT (SELECT 1) FROM records"), "has a subquery"),
        (query("SELECT a FROM records UNION SELECT 1"), "is not one SELECT"),
        (query("SELECT row_number() OVER () FROM records"), "has a window"),
        (query("SELECT unnest(a) FROM records"), "has EXPLODE"),
        (query("SELECT a, b AS a FROM records"), "gives several columns the name a"),
        (query("SELECT no_such_function(a) FROM records"), "has an unknown function"),
        (query("SELECT a FROM records; DROP TABLE records"), "is not one SELECT"),
        (query("COPY records TO '/tmp/x'"), "is not one SELECT"),
    ]

    def examples(self) -> Sequence[Example]:
        item = Record(VALUE, ITEM, topic="t")
        one = Schema(Type.INT32, optional=True)
        return [
            Example(query("SELECT * FROM records"), item, item),
            Example(query("SELECT * FROM records WHERE id > 1"), item, None),
            Example(
                query("SELECT id AS number, upper(name) AS name, of FROM records"),
                item,
                Record(
                    {"number": 1, "name": "ADA", "of": UUID(int=7)},
                    struct([("number", NUMBER), ("name", TEXT), ("of", Schema(Type.UUID))], name="item"),
                    topic="t",
                ),
            ),
            Example(
                query("SELECT * EXCLUDE (id, price, of), 1 AS one FROM records r WHERE r.price < 2"),
                item,
                Record({"name": "ada", "one": 1}, struct([("name", STRING), ("one", one)], name="item"), topic="t"),
            ),
            Example(
                query("SELECT _topic AS topic, _key AS key, _timestamp_ms AS at, _headers['h'] AS h, value FROM records"),
                Record("v", STRING, "k", STRING, "t", 5, {"h": "x"}),
                Record(
                    {"topic": "t", "key": "k", "at": 5, "h": "x", "value": "v"},
                    struct(
                        [("topic", TEXT), ("key", TEXT), ("at", Schema(Type.INT64, optional=True)), ("h", TEXT), ("value", STRING)]
                    ),
                    "k",
                    STRING,
                    "t",
                    5,
                    {"h": "x"},
                ),
            ),
            Example(query("SELECT a.b AS b, a FROM records"), Record({"a": {"b": 2}}), Record({"b": 2, "a": {"b": 2}})),
            Example(query("SELECT CAST(name AS INTEGER) AS n FROM records"), item, "Could not convert string 'ada' to INT32"),
            Example(
                query("SELECT name FROM records"),
                Record({"Name": "a", "name": "b"}, struct([("Name", STRING), ("name", STRING)])),
                "the fields Name and name differ by the case of their letters alone",
            ),
            *(
                Example(query(f"SELECT {text}"), Record({"Name": "a", "id": 1}), "there is no column 'name', but 'Name', 'id'")
                for text in ("name FROM records", "* EXCLUDE (name) FROM records", "id FROM records WHERE name = 'a'")
            ),
            Example(query("SELECT nothing FROM records"), item, "there is no column 'nothing', but 'id', 'name'"),
            Example(query("SELECT upper(nothing) FROM records"), item, "there is no column 'nothing'"),
        ]


def run(text: str, records: Records, **more: str) -> tuple[list[object], dict[int, str]]:
    raw = {"transforms": "x", "transforms.x.type": "sql", "transforms.x.query": text}
    chain = make({**raw, **{f"transforms.x.{key}": value for key, value in more.items()}})
    try:
        done = chain.run(records)
    finally:
        chain.close()
    return [value for each in done.runs for value in each.values], {index: str(bad.error) for index, bad in done.failed.items()}


def test_one_bad_record_of_ten_thousand_costs_that_record() -> None:
    values = [{"n": str(number) if number != 6_789 else "many"} for number in range(10_000)]
    found, bad = run("SELECT CAST(n AS INTEGER) AS n FROM records", Records(values, range(10_000), "t", struct([("n", STRING)])))
    assert list(bad) == [6_789]
    assert found == [{"n": number} for number in range(10_000) if number != 6_789]


def test_a_query_that_does_not_end_in_time_is_ended() -> None:
    # Minutes of work in little memory, however fast the machine is.
    slow = "SELECT levenshtein(repeat('ab', 100000 * n), repeat('ba', 100000 * n)) AS s FROM records"
    found, bad = run(slow, Records([{"n": 0}, {"n": 4}, {"n": 0}], range(3), "t", struct([("n", NUMBER)])), timeout="0.5s")
    assert found == [{"s": 0}, {"s": 0}]
    assert bad == {1: "the query has not ended after 0.5 s (the option timeout)"}


def test_a_query_that_takes_too_much_memory_costs_its_record_and_not_the_worker() -> None:
    huge = "SELECT len(range(1000000000 * n)) AS s FROM records"
    found, bad = run(huge, Records([{"n": 0}, {"n": 4}, {"n": 0}], range(3), "t", struct([("n", NUMBER)])))
    assert found == [{"s": 0}, {"s": 0}]
    assert "memory" in bad[1].lower()


@pytest.mark.parametrize(
    "text", ["SELECT content FROM read_text('/etc/hostname')", "SELECT * FROM '/etc/hostname'", "SELECT a FROM duckdb_settings()"]
)
def test_nothing_but_the_records_can_be_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"does not select from the table records|is not"):
        parse(text)
