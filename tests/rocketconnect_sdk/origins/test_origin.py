"""Whether two sources read the same."""

import pytest

from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.origins.tables import address, tables_of


def one(name: str, *, is_pattern: bool = False, without: tuple[str, ...] = ()) -> Origin:
    return Origin("filename", "file:", name, is_pattern, without)


@pytest.mark.parametrize(
    ("pattern", "name", "is_meant"),
    [
        ("/data/*.csv", "/data/a.csv", True),
        ("/data/*.csv", "/data/old/a.csv", False),
        ("/data/**/*.csv", "/data/old/er/a.csv", True),
        ("/data/**/*.csv", "/data/a.csv", True),
        ("/data/**", "/data/a/b", True),
        ("/data/??.csv", "/data/a.csv", False),
        ("/data/[ab].csv", "/data/b.csv", True),
        ("*", "shop.orders", True),
    ],
)
def test_a_pattern_means_what_a_glob_finds(pattern: str, name: str, is_meant: bool) -> None:
    assert one(pattern, is_pattern=True).overlaps(one(name)) is is_meant
    assert one(name).overlaps(one(pattern, is_pattern=True)) is is_meant


def test_a_pattern_that_takes_long_to_match_as_an_expression_is_decided_at_once() -> None:
    assert not one("*a" * 60 + "b", is_pattern=True).takes("a" * 200)


def test_of_two_patterns_only_the_same_are_known_to_overlap() -> None:
    assert one("/a/*", is_pattern=True).overlaps(one("/a/*", is_pattern=True))
    assert not one("/a/*", is_pattern=True).overlaps(one("/a/b*", is_pattern=True))
    assert not one("/a/*", is_pattern=True).overlaps(one("/a/*", is_pattern=True, without=("/a/b",)))


def test_another_topic_or_place_is_something_else() -> None:
    first = Origin("k", "mysql://db:3306/", "shop.orders", into="t")
    assert first.overlaps(Origin("other", "mysql://db:3306/", "shop.orders", into="t"))
    assert not first.overlaps(Origin("k", "mysql://db:3307/", "shop.orders", into="t"))
    assert not first.overlaps(Origin("k", "mysql://db:3306/", "shop.orders", into="u"))


def tables(*include: str, exclude: tuple[str, ...] = (), within: tuple[str, ...] = ()) -> list[Origin]:
    return list(tables_of("table.include", "mysql://db/", "t", include, exclude, within))


def overlap(first: list[Origin], second: list[Origin]) -> bool:
    return any(each.overlaps(other) for each in first for other in second)


@pytest.mark.parametrize("written", [r"shop\.orders", "shop.orders", r"shop\.ord.*", r"shop\..*", ".*"])
def test_expressions_of_names_are_compared_as_names(written: str) -> None:
    assert overlap(tables(r"shop\.orders"), tables("shop.payments", written))
    assert not overlap(tables(r"crm\.person"), tables(written)) or written == ".*"


def test_none_given_are_all_but_those_left_out() -> None:
    assert overlap(tables(), tables(r"shop\.orders"))
    assert not overlap(tables(exclude=(r"shop\.ord.*",)), tables(r"shop\.orders"))
    assert not overlap(tables("shop.orders", exclude=("shop.orders",)), tables("shop.orders"))


def test_databases_choose_tables_too() -> None:
    assert overlap(tables(within=("shop",)), tables("shop.orders"))
    assert not overlap(tables(within=("shop",)), tables("crm.person"))
    assert not overlap(tables("crm.person", within=("shop",)), tables("crm.person"))


def test_an_expression_that_says_more_is_the_same_only_where_it_is_written_the_same() -> None:
    assert overlap(tables(r"shop\.(a|b)", exclude=("x", "y")), tables(r"shop\.(a|b)", exclude=("y", "x")))
    assert not overlap(tables(r"shop\.(a|b)"), tables(r"shop\.(b|a)"))
    assert not overlap(tables(r"shop\.(a|b)"), tables(r"shop\.a"))


def test_this_machine_has_one_address() -> None:
    assert address("LOCALHOST", 3306) == address("127.0.0.1", 3306) == address("::1", 3306)
    assert address("db", 3306) == "db:3306"
