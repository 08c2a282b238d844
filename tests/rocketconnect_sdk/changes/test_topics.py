"""Names that are made to fit do not become one in silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.jdbc_source.place import Mode
from connectors.jdbc_source.tables import TableSettings, shared_by
from rocketconnect_sdk.changes.topics import Topics, named, shared_topic
from rocketconnect_sdk.errors import PermanentError

TEMPLATE = "${topic}-${schema}-${table}"
NAMES = st.text("ab_$@.-", min_size=1, max_size=3)


def of(schema: str, table: str, template: str = TEMPLATE) -> tuple[str, str, dict[str, str]]:
    return f"{schema}.{table}", template, {"topic": "cdc", "database": "d", "schema": schema, "table": table}


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (("shop", "a$b"), ("shop", "a@b"), "cdc-shop-a_b is the topic of shop.a$b and of shop.a@b, whose rows would be mixed"),
        (("shop", "ä"), ("shop", "ö"), "cdc-shop-_ is the topic of shop.ä and of shop.ö"),
        (("a-b", "c"), ("a", "b-c"), "cdc-a-b-c is the topic of a-b.c and of a.b-c"),
        (("a", "b.c"), ("a.b", "c"), "two tables are called so, which positions could not tell apart"),
    ],
)
def test_tables_whose_topic_would_be_one_are_told_with_both_names(one: tuple[str, str], other: tuple[str, str], said: str) -> None:
    tables = [named(*of(*one)), named(*of(*other))]
    problem = shared_topic(tables)
    assert problem is not None
    assert said in " ".join(problem)


def test_tables_share_a_topic_that_the_configuration_gives_them() -> None:
    for template in ("${topic}", "all", "${schema}"):
        assert shared_topic([named(*of("shop", "a$b", template)), named(*of("shop", "a@b", template))]) is None
    assert shared_topic([named(*of("shop", "a")), named(*of("shop", "b"))]) is None


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=5))
def test_tables_that_are_not_told_of_have_topics_of_their_own(tables: list[tuple[str, str]]) -> None:
    found = [named(*of(*each)) for each in tables]
    assert (shared_topic(found) is None) == (
        len({each.topic for each in found}) == len({each.table for each in found}) == len(tables)
    )


def test_a_table_that_comes_later_is_refused_where_its_topic_is_that_of_another() -> None:
    topics = Topics()
    assert topics.checked(named(*of("shop", "a$b"))) == topics.checked(named(*of("shop", "a$b"))) == "cdc-shop-a_b"
    with pytest.raises(PermanentError, match=r"shop\.a\$b and of shop\.a@b.*table\.exclude"):
        topics.checked(named(*of("shop", "a@b")))


def test_tables_of_a_database_with_a_prefix_are_told_apart_too() -> None:
    wanted = TableSettings(Mode.BULK, "", (), (), "", "", (), True, "db-")
    problem = shared_by(wanted, ["public.a_b", "public.a$b"])
    assert problem is not None
    assert problem[0] == "db-public_a_b"
    assert shared_by(wanted, ["public.a", "public.b"]) is None
