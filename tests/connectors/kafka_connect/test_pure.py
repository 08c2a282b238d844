"""What needs no Java: names of topics, secrets of tasks, frames."""

import struct
from pathlib import Path
from typing import Any

import pytest

from connectors.java.log import JAVA_LOG
from connectors.kafka_connect import stages
from connectors.kafka_connect.frames import Written, records_of
from connectors.kafka_connect.offered import kind_of
from connectors.kafka_connect.options import concealed, options_of, revealed
from connectors.kafka_connect.sink_task import JavaSinkTask
from connectors.kafka_connect.topic_names import TopicNames
from rocketconnect_sdk.configuration import foreign
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config, Kind
from rocketconnect_sdk.plugins.kafka import JavaConnector, JavaOption, JavaPlugin


def test_what_rocketmq_refuses_in_a_topic_becomes_an_underscore_and_two_topics_never_become_one() -> None:
    names = TopicNames()
    assert names.of("shop.public.orders") == names.of("shop.public.orders") == "shop_public_orders"
    assert (names.of("plain-1"), names.of("")) == ("plain-1", "")
    with pytest.raises(
        PermanentError, match=r"shop.public.orders and shop.public_orders of Kafka would both be shop_public_orders"
    ):
        names.of("shop.public_orders")


def test_a_plan_holds_no_secret_of_the_connector_and_its_tasks_have_it_again() -> None:
    told = {"url": "db:1", "password": "s3cret", "tables": "a,b"}
    task = {"url": "db:1", "password": "s3cret", "tables": "a", "dsn": "user:s3cret@db:1"}
    changed = concealed(told, task, ["password", "absent"])
    assert changed == {"tables": "a", "dsn": "user:${secret:password}@db:1"}
    assert revealed(told, changed, ["password"]) == task


def test_secrets_that_are_parts_of_each_other_or_of_what_stands_for_them_leave_nothing_behind_and_come_back() -> None:
    told = {"a.password": "longsecret", "b.password": "e", "c.token": "longsecretXYZ"}
    task = {"dsn": "u:longsecret@h", "token": "longsecretXYZ", **told}
    changed = concealed(told, task, list(told))
    assert changed == {"dsn": "u:${secret:a.password}@h", "token": "${secret:c.token}"}
    assert revealed(told, changed, list(told)) == task


def test_a_frame_is_read_as_it_was_written() -> None:
    def record(key: bytes | None, value: bytes | None, topic: bytes, time: int, headers: int) -> bytes:
        parts = [struct.pack(">i", -1) if each is None else struct.pack(">i", len(each)) + each for each in (key, value)]
        return b"".join([*parts, struct.pack(">H", len(topic)) + topic, struct.pack(">qi", time, headers)])

    frame = record(None, b"v", b"t", 7, 0) + record(b"", None, b"", -1, 2)
    assert list(records_of(frame)) == [Written(None, b"v", "t", 7, 0), Written(b"", None, "", -1, 2)]


def test_options_are_those_of_the_definition_but_for_what_the_runtime_has() -> None:
    keys = [JavaOption("topic", "STRING"), JavaOption("user.password", "PASSWORD"), JavaOption("size", "INT", "How large.", "5")]
    made = {option.key: option for option in options_of(JavaConnector("org.example.Weather", "source", "1", keys))}
    assert list(made) == ["user.password", "size", "jvm.heap"]
    assert made["user.password"].secret
    assert (made["size"].kind, made["size"].default, made["size"].doc) == (Kind.INT, "5", "How large.")


def test_what_is_taken_for_a_secret_by_its_name_must_be_a_reference() -> None:
    given = {"db.password": "plain", "api.token": "${env:TOKEN}", "name": "x"}
    assert [problem.key for problem in foreign.problems(given)] == ["db.password"]
    assert foreign.secret_keys(given) == ["db.password", "api.token"]


def test_a_connector_that_speaks_to_kafka_itself_is_refused_by_its_check() -> None:
    connector = JavaConnector("org.apache.iceberg.connect.IcebergSinkConnector", "sink", "1", [])
    made = kind_of(JavaPlugin("iceberg", "1", "", {}, [connector], Path()), connector)()
    (problem,) = made.check(Config({}, {}))
    assert (problem.key, problem.reason) == ("connector.class", "speaks to Kafka itself, and there is none here")


def test_a_sink_whose_stages_cant_be_made_ends_with_why_and_has_no_lines_of_java_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sink:
        def java(self, _: Config) -> object:
            return object()

    def made(*_: object) -> None:
        msg = "no class a.B"
        raise PermanentError(msg)

    monkeypatch.setattr(stages, "made", made)
    sink: Any = Sink()
    task = JavaSinkTask(sink, Config({}, {}), {}, TaskContext())
    with pytest.raises(PermanentError, match=r"no class a\.B"):
        task.start()
    task.close()
    assert JAVA_LOG._tasks == []
