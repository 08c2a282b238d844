import base64
import json
from collections.abc import Mapping

import pytest
from confluent_kafka import KafkaError

from connectors.kafka import sending
from connectors.kafka.client import Client
from connectors.kafka.messages import BY_KEY, headers_of, partition_of
from connectors.kafka.sink import KafkaSink
from rocketconnect_sdk import PermanentError, SystemAway, TaskContext
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.partitions.options import HeaderForm
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.writes import Op, Operation
from tests.connectors.kafka.stand_in import MARKER, Cluster
from tests.connectors.kafka.writing import QUEUE, Run, parsed

UID = TaskContext().connector_uid


def config_of(cluster: Cluster, **options: str) -> dict[str, str]:
    return {"bootstrap.servers": cluster.servers, **{name.replace("_", "."): value for name, value in options.items()}}


def run_of(cluster: Cluster, task: int = 0, generation: int = 1, epoch: int = 1, **options: str) -> Run:
    return Run(parsed(config_of(cluster, **options)), task, generation, epoch)


def there(cluster: Cluster, topic: str = "orders") -> list[list[object]]:
    """The values by partition."""
    return [[slot[0] for slot in part.slots if slot is not MARKER] for part in cluster.topics[topic][1]]


def message_of(queue: str = QUEUE, key: bytes | None = None, **headers: str) -> Operation:
    return Operation(Op.APPEND, "t", "", b"v", more={"queue": queue}, key_value=key, headers=headers)


def test_records_are_messages_with_keys_headers_times_and_change_envelopes_as_they_are(cluster: Cluster) -> None:
    change = {"op": "u", "before": None, "after": {"id": 1}}
    run = run_of(cluster).start()
    keys = [b"\xff", '{"id": 1}', {"id": 1}, None]
    assert run.write([b"\x00", None, change, "text"], keys, [{"h": "ü"}, {}, {}, {}], [77, 78, None, 79]) == {}
    (first, *others) = (slot for slot in cluster.topics["orders"][1][0].slots if slot is not MARKER)
    assert first == (b"\x00", b"\xff", [("h", "ü".encode())], 77)
    assert [slot[0] for slot in others] == [None, b'{"op":"u","before":null,"after":{"id":1}}', b"text"]
    assert [slot[1] for slot in others] == [b'{"id": 1}', b'{"id":1}', None]


def test_the_headers_of_kafka_come_back_exactly_and_what_is_none_is_refused() -> None:
    pairs = [["a", base64.b64encode(b"\xff").decode()], ["a", None]]
    message = message_of(headers=json.dumps(pairs), more="x")
    assert headers_of(message, HeaderForm.JSON) == [("a", b"\xff"), ("a", None), ("more", b"x")]
    assert headers_of(message, HeaderForm.TEXT) == [("headers", json.dumps(pairs).encode()), ("more", b"x")]
    assert headers_of(message, HeaderForm.NONE) == []
    for text in ("x", "[1]", '[["a", "é"]]', '[["a", 1]]', "[" * 16_000, '[["\\ud800", null]]'):
        with pytest.raises(RecordError, match="no JSON list of pairs"):
            headers_of(message_of(headers=text), HeaderForm.JSON)
    with pytest.raises(RecordError, match="no text that UTF-8 can write"):
        headers_of(message_of(h="\ud800"), HeaderForm.TEXT)


def test_with_headers_none_they_are_left_out(cluster: Cluster) -> None:
    assert run_of(cluster, headers="none").start().write(["a", "b"], ["x", None], [{"h": "ü"}, {}], [77, 78]) == {}
    assert [slot[2] for slot in cluster.topics["orders"][1][0].slots if slot is not MARKER] == [[], []]


def test_records_go_by_their_keys_and_without_one_by_their_queue() -> None:
    assert partition_of(message_of(key=b""), 3, by_queue=False) == BY_KEY
    assert partition_of(message_of("t/b/4"), 3, by_queue=False) == 1
    assert partition_of(message_of("t/b/4", b"k"), 3, by_queue=True) == 1


def test_topics_are_made_as_the_options_say_or_are_waited_for(cluster: Cluster) -> None:
    run = run_of(cluster, target_topic="of-${key}", target_partitions="2", target_settings="cleanup.policy=compact").start()
    run.write(["a", "b"], ["x", "y"])
    assert {name: len(parts) for name, (_, parts) in cluster.topics.items()} == {"rocketconnect-positions": 1, "of-x": 2, "of-y": 2}
    assert cluster.policies == {"rocketconnect-positions": "compact", "of-x": "compact", "of-y": "compact"}
    with pytest.raises(SystemAway, match=r"the topic orders is not there\. Create it, or set target\.create=true"):
        run_of(cluster, epoch=2, target_create="false").start().write(["a"])


def test_what_is_too_large_is_refused_alone_also_where_the_topic_takes_less_than_a_batch(cluster: Cluster) -> None:
    run = run_of(cluster, message_max_bytes="1000").start()
    (reason,) = (refused := run.write(["a", "x" * 2000, "b"])).values()
    assert list(refused) == [1]
    assert "message.max.bytes" in reason
    cluster.limits["orders"] = 500
    assert list(run.write(["c", "x" * 600, "d", "x" * 601, "e" * 400, "f" * 400])) == [1, 3]
    assert there(cluster) == [[b"a", b"b", b"c", b"d", b"e" * 400, b"f" * 400]]
    assert run.positions == {QUEUE: QueuePosition(9)}
    other = run_of(cluster, epoch=2, delivery="at_least_once").start()
    assert list(other.write(["g", "x" * 600, "h"])) == [1]
    assert there(cluster)[0][-2:] == [b"g", b"h"]


def test_an_owner_who_was_replaced_writes_nothing_also_one_of_a_plan_with_more_tasks(cluster: Cluster) -> None:
    old = [run_of(cluster, task).start() for task in (0, 1)]
    old[1].write(["a"], queue="orders/b/1")
    new = run_of(cluster, generation=2, epoch=2).start()
    assert new.positions == {"orders/b/1": QueuePosition(1)}
    for late in old:
        with pytest.raises(PermanentError, match="a newer owner"):
            late.write(["late"], queue="orders/b/1")
    new.write(["b"], queue="orders/b/1")
    assert there(cluster) == [[b"a", b"b"]]


def test_tasks_of_a_plan_that_begin_one_after_the_other_do_not_end_each_other(cluster: Cluster) -> None:
    run_of(cluster, 1).start().close()
    first = run_of(cluster, 0, generation=2).start()
    first.write(["a"])
    second = run_of(cluster, 1, generation=2).start()
    third = run_of(cluster, 2, generation=2).start()
    for number, run in enumerate((first, second, third)):
        run.write([f"of {number}"], queue=f"orders/b/{number + 1}")
    assert there(cluster) == [[b"a", b"of 0", b"of 1", b"of 2"]]


def test_an_older_task_that_begins_again_while_a_newer_plan_begins_is_read_once_more(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = run_of(cluster, 1).start()
    old.write(["a"], queue="orders/b/1")
    commits, late = sending.committed, [True]

    def committed(client: Client) -> None:
        if late.pop() if late else False:
            # The newer one has fenced it, has read its note, and has not written its own.
            old.write(["b"], queue="orders/b/1")
        commits(client)

    monkeypatch.setattr("connectors.kafka.connection.committed", committed)
    new = run_of(cluster, 0, generation=2).start()
    assert new.positions == {"orders/b/1": QueuePosition(2)}
    with pytest.raises(PermanentError, match="a newer owner"):
        old.write(["late"], queue="orders/b/1")
    assert there(cluster) == [[b"a", b"b"]]


def test_positions_of_a_connector_that_is_deleted_are_removed_and_those_of_others_stay(cluster: Cluster) -> None:
    run = run_of(cluster).start()
    run.write(["a"])
    run.close()
    sink, config = KafkaSink(), parsed(config_of(cluster))
    sink.deleted(config, "another")
    assert run_of(cluster, epoch=2).start().positions == {QUEUE: QueuePosition(1)}
    sink.deleted(config, UID)
    sink.deleted(config, UID)
    assert run_of(cluster, epoch=1).start().positions == {}
    sink.deleted(parsed(config_of(Cluster())), UID)


def test_positions_that_were_lost_are_told(cluster: Cluster) -> None:
    run = run_of(cluster).start()
    run.write(["a"])
    KafkaSink().deleted(parsed(config_of(cluster)), UID)
    cluster.owners[f"rocketconnect-{UID}-0"] = None
    with pytest.raises(PermanentError, match="as if it had been emptied"):
        run.write(["b"])


def test_a_cluster_that_goes_away_is_waited_for(cluster: Cluster) -> None:
    run = run_of(cluster, request_timeout="1s").start()
    run.write(["a"])
    cluster.wrong = [KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")]
    with pytest.raises(SystemAway, match="does not answer"):
        run.write(["b"])
    cluster.wrong = []
    run.start().write(["b"])
    assert there(cluster) == [[b"a", b"b"]]


def problems(config: Mapping[str, str]) -> dict[str, str]:
    checked = check_connector({"connector.class": "kafka_sink", "topics": "t", **config})
    return {each.key: str(each) for each in checked.problems}


def test_all_that_is_wrong_is_told_at_once(cluster: Cluster) -> None:
    assert problems(config_of(cluster)) == {}
    wrong = {
        "bootstrap.servers": "a",
        "target.topic": "${x}",
        "target.settings": "a",
        "partition.by": "x",
        "message.max.bytes": "1",
    }
    assert problems(wrong).keys() >= wrong.keys()
    cluster.make("two", 2)
    cluster.policies["two"] = "compact"
    cluster.make("one")
    cluster.policies["one"] = "delete"
    cluster.without_transactions = True
    found = problems(config_of(cluster, target_topic="x", target_create="false", positions_topic="two", target_partitions="3"))
    assert found.keys() == {"target.topic", "positions.topic", "target.partitions", "delivery"}
    assert "has 2 partitions" in found["positions.topic"]
    assert "delivery=at_least_once" in found["delivery"]
    assert (
        "cleanup.policy=delete, which removes positions" in problems(config_of(cluster, positions_topic="one"))["positions.topic"]
    )
    assert problems(config_of(cluster, positions_topic="one", delivery="at_least_once")) == {}
    cluster.wrong = [KafkaError(KafkaError._ALL_BROKERS_DOWN)]
    assert "does not answer" in problems(config_of(cluster, request_timeout="1s"))["bootstrap.servers"]


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_no_record_reaches_a_topic_of_positions(cluster: Cluster, delivery: str) -> None:
    run_of(cluster, positions_topic="own").start().write(["a"])
    run = run_of(cluster, target_topic="${key}", positions_topic="own", delivery=delivery).start()
    kept = there(cluster, "own")
    refused = run.write(["a", "b", "c"], ["own", "rocketconnect-positions", "else"])
    assert sorted(refused) == [0, 1]
    assert all("keeps positions" in reason for reason in refused.values())
    assert there(cluster, "else") == [[b"c"]]
    assert "rocketconnect-positions" not in cluster.topics
    assert delivery == "exactly_once" or there(cluster, "own") == kept
