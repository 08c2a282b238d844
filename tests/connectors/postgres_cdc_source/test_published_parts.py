"""Publications with lists of columns and filters of rows: the rows that are there are as narrow as the changes."""

from collections.abc import Callable

import pytest

from connectors.postgres_cdc_source import PostgresCdcSource
from rocketconnect_sdk.database_logs.task import LogTask
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.postgres_cdc_source.capturing import Captured, Shop, capturing, is_streaming, parsed


@pytest.fixture
def narrow(shop: Shop) -> Shop:
    """With a table of which a publication has two columns of some rows."""
    shop.run(
        f"CREATE TABLE {shop.name}.orders (id int PRIMARY KEY, region text, secret text)",
        f"INSERT INTO {shop.name}.orders SELECT n, 'r' || n % 2, 'hidden' FROM generate_series(1, 6) n",
        f"CREATE PUBLICATION {shop.name} FOR TABLE {shop.name}.orders (id, region) WHERE (id > 2 AND id < 100)",
    )
    return shop


def _is_read(shop: Shop) -> Callable[[Captured], bool]:
    return lambda captured: captured.positions.get(f"incremental {shop.name}.orders", ()) >= (1, 2)


@pytest.mark.parametrize("mode", ["initial", "incremental"])
def test_a_snapshot_has_the_columns_and_rows_that_the_publication_has(narrow: Shop, mode: str) -> None:
    with capturing(narrow.config(snapshot_mode=mode, incremental_snapshot_chunk_size="2")) as captured:
        captured.until(is_streaming if mode == "initial" else _is_read(narrow))
        narrow.run(
            f"INSERT INTO {narrow.name}.orders VALUES (7, 'new', 'hidden'), (200, 'no', 'hidden')",
            f"UPDATE {narrow.name}.orders SET id = 300 WHERE id = 3",
        )
        captured.until(lambda so_far: len(so_far.records) == 6)
    read = [("r", {"id": number, "region": f"r{number % 2}"}) for number in range(3, 7)]
    assert captured.ops()[:5] == [*read, ("c", {"id": 7, "region": "new"})]
    assert captured.ops()[5][0] == "d"
    assert captured.records[5][2] == {"id": 3}


def test_a_snapshot_goes_on_in_a_filter_of_rows_behind_what_is_stored(narrow: Shop) -> None:
    with capturing(narrow.config(), batch_records=2) as first:
        first.until(lambda so_far: len(so_far.records) == 2)
    with capturing(narrow.config(), first.positions) as second:
        second.until(is_streaming)
    assert [row["id"] for _, row in first.ops() + second.ops()] == [3, 4, 5, 6]


def test_a_condition_of_an_incremental_snapshot_is_one_more_beside_the_filter(narrow: Shop) -> None:
    with capturing(narrow.config(snapshot_mode="never")) as captured:
        captured.until(is_streaming)
        captured.task.signal("execute-snapshot", {"tables": f"{narrow.name}.orders", "condition": "id = 1 OR id = 5"})
        captured.until(_is_read(narrow))
    assert [row["id"] for _, row in captured.ops()] == [5]


def test_rows_alone_are_whole_since_no_publication_is_read(narrow: Shop) -> None:
    with capturing(narrow.config(snapshot_mode="only")) as captured:
        captured.until(lambda so_far: so_far.task.finished)
    assert [row["secret"] for _, row in captured.ops()] == ["hidden"] * 6


def test_a_table_that_is_added_leaves_the_lists_and_filters_of_others_as_they_are(
    narrow: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogTask, "look_seconds", 0.05)
    with capturing(narrow.config()) as captured:
        captured.until(is_streaming)
        narrow.run(f"CREATE TABLE {narrow.name}.new (id int PRIMARY KEY)", f"INSERT INTO {narrow.name}.new VALUES (1)")
        captured.until(lambda so_far: ("r", {"id": 1}) in so_far.ops())
        narrow.run(f"INSERT INTO {narrow.name}.orders VALUES (1000, 'no', 'hidden'), (8, 'yes', 'hidden')")
        captured.until(lambda so_far: len(so_far.records) == 6)
    assert captured.ops()[-1] == ("c", {"id": 8, "region": "yes"})


def test_a_list_of_columns_without_the_whole_key_is_refused(shop: Shop) -> None:
    shop.run(
        f"CREATE TABLE {shop.name}.orders (id int, region text, PRIMARY KEY (id, region))",
        f"CREATE PUBLICATION {shop.name} FOR TABLE {shop.name}.orders (id)",
    )
    (problem,) = PostgresCdcSource().check(parsed(shop.config()))
    assert problem.key == "publication.name"
    assert "without region of its key" in problem.reason
    with capturing(shop.config()) as captured, pytest.raises(PermanentError, match="without region of its key"):
        captured.until(is_streaming)


def test_rows_that_are_compared_with_a_sink_are_those_of_the_publication(narrow: Shop) -> None:
    tables = PostgresCdcSource().tables(parsed(narrow.config()))
    rows = tables.open(f"{narrow.name}.orders")
    (part,) = rows.behind((3,), ["id"])
    found = part.values.to_pylist()
    assert found == [{"id": number, "region": f"r{number % 2}"} for number in range(4, 7)]
