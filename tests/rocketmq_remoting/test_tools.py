"""RocketMQ's own admin tool sees this client."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from rocketmq_remoting import Client, Message, MessageQueue, encode_batch
from tests.rocketmq_admin import admin_tool
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq

TopicMaker = Callable[..., list[MessageQueue]]
Admin = Callable[..., str]


@pytest.fixture
def admin(rocketmq: RocketMQ, tmp_path: Path) -> Admin:
    """Run a command of RocketMQ's admin tool and return what it prints."""

    return partial(admin_tool, rocketmq.jars, rocketmq.name_server, tmp_path)


@pytest.mark.slow
def test_consumer_progress_shows_the_lag_of_a_group(rocketmq: RocketMQ, new_topic: TopicMaker, admin: Admin) -> None:
    (queue,) = new_topic()
    group = f"group_{queue.topic}"
    with Client(rocketmq.name_server) as client:
        client.send_batch(queue, encode_batch([b"x"] * 10))
        client.commit_offset(group, queue, 4)
        client.barrier(queue.broker)
        client.pull(queue, 0, group=group)
        deadline = time.monotonic() + 20
        progress = admin("consumerProgress", "-g", group)
        while queue.topic not in progress and time.monotonic() < deadline:
            progress = admin("consumerProgress", "-g", group)
        (line,) = [line for line in progress.splitlines() if line.startswith(queue.topic[:20])]
        assert line.split()[1:5] == [queue.broker, "0", "10", "4"]
        assert "Diff Total: 6" in progress
        online = admin("consumerConnection", "-g", group)
        assert client.client_id in online
        assert queue.topic in online


@pytest.mark.slow
def test_a_message_is_found_by_its_unique_key_and_by_its_business_key(client: Client, new_topic: TopicMaker, admin: Admin) -> None:
    (queue,) = new_topic()
    client.send(queue, Message(b"x", keys="order-17"))
    (message,) = client.pull(queue, 0, suspend=5).messages
    unique = message.properties["UNIQ_KEY"]
    assert unique in admin("queryMsgByKey", "-t", queue.topic, "-k", "order-17")
    assert f"Queue Offset:        {message.queue_offset}" in admin("queryMsgByUniqueKey", "-t", queue.topic, "-i", unique)
    assert unique in admin("queryMsgById", "-t", queue.topic, "-i", message.message_id)


@pytest.mark.slow
def test_a_closed_client_is_no_longer_shown(rocketmq: RocketMQ, new_topic: TopicMaker, admin: Admin) -> None:
    (queue,) = new_topic()
    group = f"group_{queue.topic}"
    with Client(rocketmq.name_server) as client:
        client.commit_offset(group, queue, 0)
        client._heartbeat.beat()
        assert client.client_id in admin("consumerConnection", "-g", group)
    assert client.client_id not in admin("consumerConnection", "-g", group)
