"""Tasks share a Spark driver when they need the same of it, and no other."""

from rocketconnect_sdk.spark.needs import NOTHING, SparkNeeds, joined
from services.executor.contract.assignment import Assigned, Key
from services.executor.hosts.placement import NATIVE, PLAIN, Profile, profile_name, profile_of

DELTA = SparkNeeds("Delta 1", "/lists/delta-1.jars", {"spark.sql.extensions": "delta.Extension"})
NEEDS = {"delta_sink": DELTA}
ENGINES = {"kafka_sink": "native"}


def profile(plugin: str, **config: str) -> Profile | None:
    options = {"connector.class": plugin, **{name.replace("_", "."): value for name, value in config.items()}}
    assigned = Assigned(Key("uid", 0), "c", 1, 1, 1, "SINK", options)
    return profile_of(assigned, "", lambda name: NEEDS.get(name, NOTHING), lambda name, asked: asked or ENGINES.get(name, "spark"))


def test_what_needs_the_same_shares_a_driver_and_what_needs_nothing_has_the_plain_one() -> None:
    assert profile("delta_sink", topics="a") == profile("delta_sink", topics="b")
    assert profile("delta_sink") == Profile((("spark.sql.extensions", "delta.Extension"),), "Delta 1", "/lists/delta-1.jars")
    assert profile("file_sink") == PLAIN
    assert profile_name(profile("delta_sink")) != profile_name(PLAIN) == "spark"


def test_what_people_want_of_spark_comes_beside_what_a_sink_needs() -> None:
    wanted = profile("delta_sink", spark_executor_memory="2g")
    assert wanted is not None
    assert dict(wanted.settings) == {"spark.sql.extensions": "delta.Extension", "spark.executor.memory": "2g"}
    assert wanted != profile("delta_sink")


def test_a_task_that_does_not_run_on_spark_has_no_driver_whatever_its_plugin_needs() -> None:
    assert profile("delta_sink", engine="native") is NATIVE


def test_a_sink_that_runs_without_spark_where_nothing_else_is_said_has_no_driver() -> None:
    assert profile("kafka_sink") is NATIVE
    assert profile("kafka_sink", engine=" ") is NATIVE
    assert profile("kafka_sink", engine="spark") == PLAIN


def test_lists_are_joined_and_of_other_settings_that_of_people_wins() -> None:
    needed = {"spark.sql.extensions": "a,b", "spark.sql.shuffle.partitions": "8", "spark.jars": "x"}
    wanted = {"spark.sql.extensions": "b,c", "spark.sql.shuffle.partitions": "2"}
    assert joined(needed, wanted) == {"spark.sql.extensions": "a,b,c", "spark.sql.shuffle.partitions": "2", "spark.jars": "x"}
