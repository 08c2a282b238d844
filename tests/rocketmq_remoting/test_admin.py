"""What brokers tell of what was sent and consumed, of clients and of themselves."""

import time
import uuid

import pytest

from rocketmq_remoting import Client, MessageQueue, NotSent, QueueEnds, QueueProgress, TopicNotFound, Unsupported, encode_batch
from tests.rocketmq_remoting.conftest import Filler, TopicMaker

pytestmark = pytest.mark.rocketmq


def test_a_broker_tells_of_itself_of_topics_groups_and_clients(client: Client, new_topic: TopicMaker, fill: Filler) -> None:
    before = int(time.time() * 1000)
    first, second = new_topic(queues=2)
    group = f"group_{uuid.uuid4().hex}"
    fill(client, first, 10)
    client.create_group(group)
    client.commit_offset(group, first, 4)
    client.pull(first, 4, group=group)
    (broker,) = client.admin.brokers()
    address = broker.master
    assert address is not None
    admin = client.admin
    assert int(admin.runtime(address, 10).result()["msgPutTotalTodayNow"]) >= 10
    assert first.topic in admin.topics(address, 10).result()
    assert admin.ends(address, first.topic, 10).result() == {first: QueueEnds(0, 10), second: QueueEnds(0, 0)}
    assert admin.groups(address, first.topic, 10).result() == [group]
    progress = admin.progress(address, group, first.topic, 10).result()
    assert progress.queues == {first: QueueProgress(10, 4), second: QueueProgress(0, 0)}
    stored = admin.stored_at(address, first, 4, 10).result()
    assert stored is not None
    assert before <= stored <= time.time() * 1000
    assert admin.stored_at(address, first, 10, 10).result() is None
    counted = admin.counted(address, "TOPIC_PUT_NUMS", first.topic, 10).result()
    assert counted is not None
    assert admin.counted(address, "TOPIC_PUT_NUMS", "nothing", 10).result() is None
    client._heartbeat.beat()
    online = admin.connections(address, group, 10).result()
    assert {each.client_id for each in online.connections} == {client.client_id}
    assert not online.broadcasting
    assert admin.connections(address, "nobody", 10).result().connections == ()
    assert admin.producers(address, 10).result()[client.group] >= 1
    # This client tells nothing of itself.
    with pytest.raises(Unsupported):
        admin.status(address, group, client.client_id, 10).result()


def test_a_topic_that_there_is_not_and_a_broker_that_is_away_are_said(client: Client, unused_tcp_port: int) -> None:
    (broker,) = client.admin.brokers()
    assert broker.master is not None
    with pytest.raises(TopicNotFound):
        client.admin.ends(broker.master, "nothing", 10).result()
    with pytest.raises(NotSent):
        client.admin.runtime(f"127.0.0.1:{unused_tcp_port}", 10)


def test_a_queue_of_a_topic_of_batches_tells_when_a_message_was_stored(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic(topic_type="batch")
    client.send_batch(queue, encode_batch([b"a", b"b"]))
    client.barrier(queue.broker)
    (broker,) = client.admin.brokers()
    assert broker.master is not None
    assert client.admin.stored_at(broker.master, MessageQueue(queue.topic, queue.broker, 0), 1, 10).result() is not None
