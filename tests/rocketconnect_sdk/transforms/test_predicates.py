"""The predicates choose the same one by one and many at once."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column, Texts
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, Unit, decimal, struct, timestamp
from rocketconnect_sdk.transforms import Predicate, Record, Records
from rocketconnect_sdk.transforms.base import in_order
from rocketconnect_sdk.transforms.chain import make, problems

NUMBER = Schema(Type.INT64)


def raw(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    options = {"type": kind, **options}
    step = {"transforms": "x", "transforms.x.type": "filter", "transforms.x.predicate": "p", "predicates": "p"}
    return step | {f"predicates.p.{key}": value for key, value in options.items()}


def made(kind: str, **options: str) -> Predicate:
    found = make(raw(kind, {key.replace("_", "."): value for key, value in options.items()})).steps[0].predicate
    assert found is not None
    return found


def chosen(predicate: Predicate, records: Sequence[Record]) -> list[bool]:
    one_by_one = [predicate.test(record) for record in records]
    together: list[bool] = []
    for run in in_order(enumerate(records)):
        found = predicate.test_many(run)
        together += [predicate.test(record) for record in run.each()] if found is None else _each(found, run)
    assert together == one_by_one
    return one_by_one


def _each(found: Sequence[bool] | bool, run: Records) -> list[bool]:
    return [found] * len(run) if isinstance(found, bool) else list(found)


def test_has_header_chooses_by_the_name() -> None:
    records = [Record(1, headers={"a": ""}), Record(1), Record(1, headers={"b": "a"})]
    assert chosen(made("has_header", name="a"), records) == [True, False, False]
    assert chosen(made("has_header", name="a"), [Record(1)]) == [False]


def test_is_tombstone_chooses_records_without_a_value() -> None:
    assert chosen(made("is_tombstone"), [Record(None), Record(""), Record(0)]) == [True, False, False]
    assert made("is_tombstone").test_many(Records(Texts([b""]), [0], "t", STRING)) is False


def test_topic_matches_chooses_by_the_whole_name() -> None:
    records = [Record(1, topic="a-b"), Record(1, topic="xa-b"), Record(1, topic="a-")]
    assert chosen(made("topic_matches", pattern="a-.*"), records) == [True, False, True]
    assert chosen(made("topic_matches", pattern="a-.*"), records[:1]) == [True]


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("=", "2", [False, True, False, False]),
        ("!=", "2", [True, False, True, False]),
        ("<", "2", [True, False, False, False]),
        ("<=", "2", [True, True, False, False]),
        (">", "2", [False, False, True, False]),
        (">=", "2", [False, True, True, False]),
        ("in", "1, 10", [True, False, True, False]),
        ("matches", "1.?", [True, False, True, False]),
        ("is_null", None, [False, False, False, True]),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("on", ["value", "key"])
def test_field_condition_compares(operator: str, value: str | None, expected: list[bool], typed: bool, on: str) -> None:
    options = {"field": "of.n", "operator": operator, "on": on} | ({} if value is None else {"value": value})
    schema = struct([("of", struct([("n", Schema(Type.INT64, optional=True))]))]) if typed else None
    values = [{"of": {"n": number}} for number in (1, 2, 10, None)]
    records = [Record(each, schema) if on == "value" else Record(0, None, each, schema) for each in values]
    predicate = make(raw("field_condition", options)).steps[0].predicate
    assert predicate is not None
    assert chosen(predicate, records) == expected
    if schema is not None:
        columns = Column(to_array(values, schema))
        many = Records(columns, range(4), "t", schema) if on == "value" else Records([0] * 4, range(4), "t", None, schema, columns)
        assert predicate.test_many(many) == expected


@pytest.mark.parametrize(
    ("value", "schema", "text"),
    [
        (Decimal("1.50"), decimal(2, precision=5), "1.5"),
        (0.10000000149011612, Schema(Type.FLOAT32), "0.1"),
        (date(2024, 5, 1), Schema(Type.DATE), "2024-05-01"),
        (datetime(2024, 5, 1, tzinfo=UTC), timestamp(), "2024-05-01T00:00:00Z"),
        (5, timestamp(Unit.NANOSECONDS), "1970-01-01T00:00:00.000000005Z"),
        (True, Schema(Type.BOOLEAN), "true"),
        ("a,b", STRING, "a,b"),
        (0.1, None, "0.1"),
        (7, None, "7"),
        (Decimal("1.50"), None, "1.5"),
        (datetime(2024, 5, 1, tzinfo=UTC), None, "2024-05-01T00:00:00Z"),
    ],
)
def test_the_value_is_read_by_the_type_of_the_field(value: object, schema: Schema | None, text: str) -> None:
    row = None if schema is None else struct([("a", schema)])
    assert chosen(made("field_condition", field="a", operator="=", value=text), [Record({"a": value}, row)]) == [True]
    assert chosen(made("field_condition", field="a", operator="<", value=text), [Record({"a": value}, row)]) == [False]


def test_what_is_not_there_is_null() -> None:
    is_null = made("field_condition", field="a.b", operator="is_null")
    records = [Record({}), Record({"a": None}), Record({"a": 1}), Record("text"), Record({"a": {"b": 0}}), Record(None)]
    assert chosen(is_null, records) == [True, True, True, True, False, True]
    assert chosen(made("field_condition", field="a.b", operator="!=", value="1"), records[:4]) == [False] * 4
    within = struct([("a", struct([("b", OPTIONAL_STRING)], optional=True))])
    assert chosen(is_null, [Record({"a": None}, within), Record({"a": {"b": "x"}}, within)]) == [True, False]


@pytest.mark.parametrize(
    ("field", "operator", "value", "record", "why"),
    [
        ("x", "=", "1", Record({"a": 1}, struct([("a", NUMBER)])), "there is no field x"),
        ("a", "=", "x", Record({"a": 1}, struct([("a", NUMBER)])), "the field a is int64, and 'x' is no whole number"),
        ("a", "=", "x", Record({"a": [1]}), "a list can't be compared"),
        ("a", "<", "x", Record({"a": []}, struct([("a", Schema(Type.ARRAY, items=NUMBER))])), "can't become array"),
        ("a", "matches", "x", Record({"a": object}), "the field a has no text"),
    ],
)
def test_what_cannot_be_compared_is_a_bad_record(field: str, operator: str, value: str, record: Record, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        made("field_condition", field=field, operator=operator, value=value).test(record)


@pytest.mark.parametrize(
    ("kind", "options", "part"),
    [
        ("has_header", {}, "name"),
        ("topic_matches", {"pattern": "("}, "is no regular expression"),
        ("field_condition", {"field": "a", "operator": "=="}, "must be one of =, !=, <"),
        ("field_condition", {"field": "a..b", "operator": "is_null"}, "is no path"),
        ("field_condition", {"field": "a", "operator": "="}, "is missing: = compares with it"),
        ("field_condition", {"field": "a", "operator": "is_null", "value": "1"}, "is_null compares with nothing"),
        ("field_condition", {"field": "a", "operator": "matches", "value": "("}, "is no regular expression"),
    ],
)
def test_wrong_options_are_refused(kind: str, options: Mapping[str, str], part: str) -> None:
    told = [str(problem) for problem in problems(raw(kind, options))]
    assert any(part in each for each in told), told
