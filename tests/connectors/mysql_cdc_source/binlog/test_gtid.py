"""Sets of transactions are what the servers write."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.mysql_cdc_source.binlog.gtid import MariadbGtid, MariadbGtidSet, MysqlGtid, MysqlGtidSet

SOURCE = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
OTHER = uuid.UUID("4e11fa47-71ca-11e1-9e33-c80aa9429562")
_RANGES = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1)


def test_of_mariadb_the_last_transaction_of_each_domain_counts() -> None:
    done = MariadbGtidSet.parse(" 1-2-3 ,0-1-100,")
    assert str(done.with_(MariadbGtid(0, 7, 101))) == "0-7-101,1-2-3"
    assert str(done) == "0-1-100,1-2-3"
    assert str(MariadbGtidSet.parse("")) == ""


def test_of_mysql_transactions_that_follow_each_other_are_one_range() -> None:
    done = MysqlGtidSet.parse(f"{SOURCE}:1-5:7")
    assert str(done.with_(MysqlGtid(SOURCE, 6)).with_(MysqlGtid(OTHER, 1))) == f"{SOURCE}:1-7,{OTHER}:1"
    assert str(done) == f"{SOURCE}:1-5:7"
    assert str(MysqlGtidSet.parse("")) == ""


@given(st.dictionaries(st.sampled_from([SOURCE, OTHER]), _RANGES))
def test_a_set_of_mysql_has_the_same_transactions_as_text_and_as_bytes(ranges: dict[uuid.UUID, list[tuple[int, int]]]) -> None:
    done = MysqlGtidSet(ranges)
    assert MysqlGtidSet.parse(str(done)) == done
    assert MysqlGtidSet.from_bytes(done.to_bytes()) == done
    step = MysqlGtidSet()
    for source, first, last in [(source, *each) for source, pairs in ranges.items() for each in pairs]:
        for number in range(first, last + 1):
            step = step.with_(MysqlGtid(source, number))
    assert step == done
    assert hash(step) == hash(done)


@given(*[st.dictionaries(st.sampled_from([SOURCE, OTHER]), _RANGES)] * 2)
def test_sets_of_mysql_are_told_from_each_other(
    one: dict[uuid.UUID, list[tuple[int, int]]], other: dict[uuid.UUID, list[tuple[int, int]]]
) -> None:
    mine, theirs = MysqlGtidSet(one), MysqlGtidSet(other)
    left = mine.without(theirs)
    for gtid in (MysqlGtid(source, number) for source in (SOURCE, OTHER) for number in range(47)):
        held = [any(first <= gtid.number <= last for first, last in each.get(gtid.source, ())) for each in (one, other)]
        assert [gtid in mine, gtid in theirs, gtid in left] == [*held, held[0] and not held[1]]
    assert (str(left) == "") == (left == MysqlGtidSet())


@pytest.mark.parametrize("text", ["0-1", "a-b-c", "0-1-2;1-1-1"])
def test_what_is_no_set_of_mariadb_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(ValueError, match="DOMAIN-SERVER-SEQUENCE"):
        MariadbGtidSet.parse(text)


@pytest.mark.parametrize("text", ["0-1-2", f"{SOURCE}", f"{SOURCE}:0", f"{SOURCE}:tag:1"])
def test_what_is_no_set_of_mysql_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(ValueError, match="UUID:FROM-TO"):
        MysqlGtidSet.parse(text)
