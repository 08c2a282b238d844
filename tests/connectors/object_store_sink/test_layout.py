from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connectors.object_store_sink.layout import NOTHING, Layout, Staged, layout_problem
from rocketconnect_sdk.configuration.zones import zone_problem
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.sink import QueuePosition

NEW_YEAR = int(datetime(2025, 12, 31, 23, 30, tzinfo=UTC).timestamp() * 1000)


def folders(path: str, *, time: str = "", zone: str = "UTC", times: list[int | None] | None = None, **columns: Any) -> list[str]:
    rows = pa.table(columns or {"value": pa.nulls(len(times or [0]), pa.string())})
    return list(Layout(path, time, zone).folders("orders", rows, times).to_pylist())


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("{topics}", "has {topics}, and there are {topic}, {yyyy}, {MM}, {dd}, {HH}, {mm} and {field:NAME}"),
        ("{field:}", "has {field:}"),
        ("a/{topic", "a brace without the other one"),
        ("a//b", "no path of folders"),
        ("/a", "no path of folders"),
        ("a/..", "no path of folders"),
        ("a\\b", "no path of folders"),
        ("_a/{topic}", "begins with _ or a point"),
        ("a/.b", "begins with _ or a point"),
    ],
)
def test_what_is_no_path_is_told(path: str, reason: str) -> None:
    assert reason in (layout_problem(path) or "")


@pytest.mark.parametrize("path", ["", "{topic}", "raw/{topic}/dt={yyyy}-{MM}-{dd}/hour={HH}", "c={field:a b}/{mm}"])
def test_what_is_a_path_is_none_of_them(path: str) -> None:
    assert layout_problem(path) is None


def test_a_time_zone_is_known_or_told() -> None:
    assert [zone_problem(name) for name in ("UTC", "Europe/Berlin", "Europe/Bern-West", "", "../UTC")] == [
        None,
        None,
        "is no time zone that is known here",
        "is no time zone that is known here",
        "is no time zone that is known here",
    ]


def test_parts_of_the_time_of_a_record_are_those_of_the_zone() -> None:
    path = "{topic}/dt={yyyy}-{MM}-{dd}/hour={HH}/m={mm}"
    assert folders(path, times=[NEW_YEAR, None]) == [
        "orders/dt=2025-12-31/hour=23/m=30",
        f"orders/dt={NOTHING}-{NOTHING}-{NOTHING}/hour={NOTHING}/m={NOTHING}",
    ]
    assert folders(path, times=[NEW_YEAR], zone="Europe/Berlin") == ["orders/dt=2026-01-01/hour=00/m=30"]


@pytest.mark.parametrize(
    ("column", "folder"),
    [
        (pa.array([datetime(2026, 1, 1, 2, tzinfo=UTC)], pa.timestamp("us", "UTC")), "2025-12-31/21"),
        (pa.array([datetime(2026, 1, 1, 2)], pa.timestamp("ms")), "2026-01-01/02"),  # noqa: DTZ001
        (pa.array([date(2026, 1, 1)]), "2026-01-01/00"),
    ],
)
def test_the_time_can_be_that_of_a_column(column: pa.Array, folder: str) -> None:
    assert folders("{yyyy}-{MM}-{dd}/{HH}", time="at", zone="America/New_York", at=column) == [folder]


def test_values_are_written_as_hive_writes_them() -> None:
    values = ["DE", "a/b=c", "ü", "", None, "..", "_x", "10%"]
    assert folders("c={field:country}", country=pa.array(values)) == [
        "c=DE",
        "c=a%2Fb%3Dc",
        "c=%C3%BC",
        f"c={NOTHING}",
        f"c={NOTHING}",
        "c=%2E.",
        "c=%5Fx",
        "c=10%25",
    ]


@pytest.mark.parametrize(
    ("column", "folder"),
    [
        (pa.array([7, None]), ["7", NOTHING]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([Decimal("1.50")]), ["1.50"]),
        (pa.array([date(2026, 2, 3)]), ["2026-02-03"]),
        (pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
    ],
)
def test_values_of_other_types_are_their_texts(column: pa.Array, folder: list[str]) -> None:
    assert folders("{field:it}", it=column) == folder


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"other": pa.array([1])}, "there is no column it, by which objects are partitioned: there are other"),
        ({"it": pa.array([[1]])}, "can be no part of a path"),
        ({"it": pa.array([b"a"])}, "can be no part of a path"),
        ({"it": pa.array(["x" * 201])}, "more than 200 characters"),
    ],
)
def test_what_can_be_no_folder_is_a_bad_record(columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        folders("{field:it}", **columns)
    with pytest.raises(RecordError, match="takes a date or a timestamp"):
        folders("{yyyy}", time="it", it=pa.array(["2026"]))


def test_a_name_says_where_an_object_begins_and_differs_with_all_that_makes_its_rows_others() -> None:
    staged = Staged("s", "orders/dt=1", "orders/broker-a/3", 17, ".parquet")
    names = [
        staged.name("uid", QueuePosition(10), 20),
        staged.name("other", QueuePosition(10), 20),
        staged.name("uid", QueuePosition(11), 20),
        staged.name("uid", QueuePosition(10), 21),
        staged.name("uid", QueuePosition(10, era=1), 20),
        staged.name("uid", QueuePosition(10, incarnation=1), 20),
    ]
    assert len(set(names)) == len(names)
    assert all(
        name.startswith("orders/dt=1/orders-broker-a-3-00000000000000000017-") and name.endswith(".parquet") for name in names
    )
    assert staged.name("uid", QueuePosition(10), 20) == names[0]


def test_no_name_is_one_that_readers_leave_out_or_a_store_does_not_take() -> None:
    names = [
        Staged("s", "", f"{topic}/b/0", 0, ".csv").name("uid", QueuePosition(0), 1) for topic in ("%RETRY%x", "_t", "t" * 127 * 3)
    ]
    assert [name[:9] for name in names] == ["x_RETRY_x", "x_t-b-0-0", "ttttttttt"]
    assert max(map(len, names)) < 255


def test_topics_that_differ_in_signs_alone_have_folders_of_their_own() -> None:
    rows = pa.table({"value": pa.nulls(1, pa.string())})
    topics = ["a_b", "a%b", "a|b", "_a", "x_a"]
    found = [Layout("{topic}", "", "UTC").folders(topic, rows, None)[0].as_py() for topic in topics]
    assert found == ["a_b", "a%25b", "a%7Cb", "%5Fa", "x_a"]
