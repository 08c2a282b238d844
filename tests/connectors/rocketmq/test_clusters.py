"""Against clusters of their own: who asks who we are, and brokers that go."""

from collections.abc import Iterator

import pytest

from connectors.rocketmq.sink import RocketmqSink
from connectors.rocketmq.source import RocketmqSource
from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_cli.embedded.rocketmq import BROKER
from rocketconnect_sdk import Config, PermanentError, SystemAway, TaskContext, parse
from rocketconnect_sdk.conformance.runs import run_of
from rocketmq_remoting import Client
from tests.conftest import RocketMQFactory
from tests.connectors.partitions import Runtime
from tests.connectors.rocketmq.clusters import Cluster, options, until

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]
SOURCE, SINK = RocketmqSource(), RocketmqSink()


@pytest.fixture
def guarded(acl_rocketmq: EmbeddedRocketMQ) -> Iterator[Cluster]:
    with Client(acl_rocketmq.name_server, access_key="root", secret_key="root-secret", timeout=10) as client:
        yield Cluster(acl_rocketmq.name_server, client)


def with_secret(config: Config, secret: str) -> Config:
    return config.replaced(lambda text: secret if text == "${env:SECRET}" else text)


def test_a_cluster_that_asks_who_we_are_is_read_and_written_with_the_right_secret_alone(guarded: Cluster, topic: str) -> None:
    guarded.make(topic)
    guarded.put(topic, [b"1", b"2"])
    user = {"access.key": "root", "secret.key": "${env:SECRET}"}
    reading = parse(SOURCE.options, options(guarded, {**user, "topics": topic}))
    with pytest.raises(PermanentError, match=r"Correct access\.key and secret\.key") as wrong:
        Runtime(SOURCE, with_secret(reading, "wrong-secret")).read()
    assert "wrong-secret" not in str(wrong.value)
    runtime = Runtime(SOURCE, with_secret(reading, "root-secret"))
    until(lambda: runtime.read() or runtime.values == [b"1", b"2"], "both messages")
    runtime.kill()
    writing = parse(SINK.options, options(guarded, {**user, "target.topic": f"{topic}-copy"}))
    run = run_of(SINK.open, with_secret(writing, "root-secret")).start()
    run.write(3)
    run.task.close()
    assert len(guarded.bodies(f"{topic}-copy")) == 3
    with pytest.raises(PermanentError, match=r"Correct access\.key and secret\.key"):
        run_of(SINK.open, with_secret(writing, "wrong-secret")).start()
    (problem,) = [each for each in SOURCE.check(with_secret(reading, "wrong-secret")) if each.key == "access.key"]
    assert "wrong-secret" not in str(problem)
    assert list(SOURCE.check(with_secret(reading, "root-secret"))) == []


def test_a_broker_that_is_away_is_waited_for_and_is_not_told_as_lost(rocketmq_factory: RocketMQFactory, topic: str) -> None:
    server = rocketmq_factory({})
    with Client(server.name_server) as client:
        cluster = Cluster(server.name_server, client)
        cluster.make(topic)
        cluster.put(topic, [b"1"])
        config = parse(SOURCE.options, options(cluster, {"topics.pattern": f"{topic}.*"}))
        runtime = Runtime(SOURCE, config)
        until(lambda: runtime.read() or runtime.values == [b"1"], "the message")
        runtime.store(9)
        server.processes[BROKER].kill()
        server.processes[BROKER].wait()
        until(lambda: not client.admin.brokers(), "the name server forgetting its broker")
        runtime.kill()
        runtime.forget()
        task = SOURCE.open(config, SOURCE.plan(config, 1, runtime.positions).tasks[0], TaskContext())
        with pytest.raises(SystemAway, match="don't know its broker"):
            task.start(runtime.positions)
        task.close()
