"""Versions of tasks in the application transaction ids of a Delta table, also such as a wrong clock has raised beyond 63 bits."""

from hypothesis import given
from hypothesis import strategies as st

from connectors.delta_sink.ids import claims_of, id_of, left_by
from rocketconnect_sdk.targets.claims import Claims, Version, closed

NOW, IN_2050 = 28_342_800_417, 757_382_400_000
VERSIONS = st.builds(Version, st.integers(0, 2**48), st.integers(1, 2**24 - 2))


@given(VERSIONS, st.integers(0, 999))
def test_a_table_gives_back_what_it_keeps_in_numbers_that_delta_takes(version: Version, task: int) -> None:
    name, number = id_of(task, version)
    assert 0 <= number < 2**63
    assert claims_of(7, {name: number}) == Claims(7, {task: version})


def test_what_tables_keep_of_right_clocks_has_the_number_of_the_task_as_its_id() -> None:
    assert id_of(3, Version(NOW, 5)) == ("3", NOW << 24 | 5)
    assert id_of(3, Version(IN_2050, 5)) == ("3@1", (IN_2050 << 24 | 5) - 2**63)


def test_of_several_ids_of_a_task_the_newest_version_counts() -> None:
    found = dict([id_of(0, Version(IN_2050, 1)), id_of(0, Version(NOW, 9)), id_of(1, Version(NOW, 4))])
    assert claims_of(1, found).tasks == {0: Version(IN_2050, 1), 1: Version(NOW, 4)}


def test_who_takes_a_task_under_another_id_closes_those_before() -> None:
    found = dict([id_of(0, Version(NOW, 9)), id_of(1, Version(NOW, 4))])
    assert left_by(found, 0, Version(IN_2050, 1)) == dict([id_of(0, closed(Version(NOW, 9)))])
    assert left_by(found, 0, Version(NOW + 1, 1)) == {}
