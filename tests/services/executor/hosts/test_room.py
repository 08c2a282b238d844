"""How much an executor runs at a time."""

import pytest

from rocketconnect_sdk.permissions.spark_profiles import memory_size
from services.executor.hosts.placement import NATIVE, PLAIN, Profile
from services.executor.hosts.room import UNLIMITED, Room

GIB = 1 << 30


def driver(memory: str) -> Profile:
    return Profile((("spark.driver.memory", memory),))


def test_without_limits_there_is_always_room() -> None:
    assert UNLIMITED.never(driver("100g")) == UNLIMITED.lack(10_000, [PLAIN] * 100, driver("100g")) == ""


def test_as_many_tasks_run_as_may() -> None:
    assert Room(tasks=2).lack(1, []) == ""
    assert Room(tasks=2).lack(2, []) == "this executor runs 2 tasks, which is all that it may (--max-tasks)"


def test_there_are_as_many_drivers_as_may_be_and_those_that_are_there_are_used() -> None:
    assert Room(drivers=1).lack(5, [], PLAIN) == Room(drivers=1).lack(5, [PLAIN], None) == ""
    assert "1 Spark driver, which is all" in Room(drivers=1).lack(5, [PLAIN], driver("2g"))


def test_the_heaps_of_all_drivers_have_room_together() -> None:
    room = Room(memory=4 * GIB)
    assert room.lack(0, [PLAIN, driver("2048m")], PLAIN) == ""
    assert room.lack(0, [PLAIN, driver("2g")], driver("2g")) == (
        "the Spark drivers of this executor have 3 GiB, and one of 2 GiB more is beyond the 4 GiB that they may have "
        "(--max-spark-memory)"
    )


def test_a_driver_that_is_larger_than_all_may_be_never_has_room() -> None:
    room = Room(memory=4 * GIB)
    assert room.never(NATIVE) == room.never(driver("4g")) == ""
    assert "5 GiB, and all drivers of this executor have 4 GiB (--max-spark-memory)" in room.never(driver("5g"))
    assert "is no size" in room.never(driver("${env:MEMORY}"))


def test_sizes_of_memory_are_read_as_spark_reads_them() -> None:
    sizes = {"8g": 8 * GIB, "512m": GIB // 2, "1024K": 1 << 20, "1t": 1024 * GIB, "2GB": 2 * GIB, "1024": GIB}
    assert {text: memory_size(text) for text in sizes} == sizes
    for text in ("", "g", "1.5g", "-1", "8 g", "8x"):
        with pytest.raises(ValueError, match="is no size"):
            memory_size(text)
