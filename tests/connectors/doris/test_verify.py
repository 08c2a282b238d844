"""Tables of a source are compared with those of Doris."""

from dataclasses import replace
from pathlib import Path

import pytest

from connectors.doris.endpoint import Endpoint, Login
from connectors.doris.reader import DorisReader
from connectors.doris.session import Session
from connectors.doris.sink import DorisSink
from connectors.doris.types import column_of
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.tables import verification
from tests.connectors.doris.run import opened
from tests.connectors.verified import LINE, Shop, goes_on_behind_the_key_at_which_it_ended, line, says_what_cannot_be_compared
from tests.servers.doris import Doris


@pytest.fixture
def upserts(options: dict[str, str]) -> dict[str, str]:
    return options | {"insert.mode": "upsert", "pk.fields": "id", "delete.enabled": "true"}


@pytest.fixture
def shop(tmp_path: Path, upserts: dict[str, str]) -> Shop:
    return Shop(tmp_path, DorisSink, upserts)


def test_what_differs_is_told_with_its_key_and_what_is_sent_again_is_equal(upserts: dict[str, str], shop: Shop) -> None:
    shop.fill(1300)
    run = opened(upserts).start()
    run.write_values([line(number) for number in range(1300) if number != 700], LINE)
    assert shop.differences() == [("[700]", "MISSING", "")]
    run.write_values([{"id": -1, "name": "x", "price": 1.0}, {"id": 9, "name": None, "price": 1.5}], LINE)
    told = [("[-1]", "EXTRA", ""), ("[9]", "DIFFERENT", "name, price"), ("[700]", "MISSING", "")]
    assert shop.differences() == told
    assert shop.differences("[-1]", "[9]", "[10]", "[700]", "[701]") == told
    run.write_values([line(9), line(700)], LINE)
    either = replace(LINE, optional=True)
    envelope = struct([("op", Schema(Type.STRING)), ("before", either), ("after", either)])
    run.write_values([{"op": "d", "before": {"id": -1, "name": "x", "price": 1.0}, "after": None}], envelope)
    assert shop.differences() == []


def test_a_comparison_goes_on_behind_the_key_at_which_it_ended(
    doris: Doris, upserts: dict[str, str], shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are of two columns, one of them a text, in the order of its bytes."""
    monkeypatch.setattr(verification, "_FIRST", 7)
    monkeypatch.setattr(verification, "_MOST", 7)
    parts = goes_on_behind_the_key_at_which_it_ended(shop, opened(upserts | {"pk.fields": "town,number"}))
    assert sum(asked == "select" for asked in doris.seen) > parts


def test_what_cannot_be_compared_is_said(upserts: dict[str, str], shop: Shop) -> None:
    assert "shop.db" not in says_what_cannot_be_compared(shop, opened(upserts))


def test_names_may_be_anything(upserts: dict[str, str], shop: Shop) -> None:
    shop.run('CREATE TABLE orders ("a b ""c" INTEGER PRIMARY KEY, "from" TEXT)')
    shop.run("INSERT INTO orders VALUES (1, 'x'), (2, 'y')")
    schema = struct([('a b "c', Schema(Type.INT64)), ("from", Schema(Type.STRING))])
    named = upserts | {"table": "the rows%s", "pk.fields": 'a b "c'}
    opened(named).start().write_values([{'a b "c': 1, "from": "x"}, {'a b "c': 2, "from": "z"}], schema)
    assert shop.differences(target="the rows%s") == [("[2]", "DIFFERENT", "from")]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("bigint", -5, "(-5)"),
        ("largeint", 10**30, f"({10**30})"),
        ("date", "2024-02-29", "'2024-02-29'"),
        ("datetime(3)", "1969-12-31T23:59:59.123999", "'1969-12-31 23:59:59.123'"),
        ("datetime", "2024-02-29T12:00:00.999999", "'2024-02-29 12:00:00'"),
        ("varchar(9)", "it's \\", r"'it\'s \\'"),
    ],
)
def test_a_value_of_a_key_is_written_as_its_column_has_it(kind: str, value: int | str, said: str) -> None:
    """Of one that the column cannot have the next lower one."""
    reader = DorisReader(Session(Endpoint("http://h", 1, "d"), Login("", "")))
    assert reader.literal(value, column_of("c", kind, optional=False)) == said


def test_what_is_text_to_us_alone_is_ordered_as_text() -> None:
    reader = DorisReader(Session(Endpoint("http://h", 1, "d"), Login("", "")))
    assert reader.ordered(column_of("c`", "ipv4", optional=False)) == "CAST(`c``` AS STRING)"
    assert reader.ordered(column_of("c", "varchar(9)", optional=False)) == "`c`"
