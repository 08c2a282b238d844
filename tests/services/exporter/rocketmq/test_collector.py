"""The collector in front of a real broker: its numbers are what was sent and consumed, and no scrape waits for it."""

import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.tethered import tethered
from rocketmq_remoting import Client, Message, encode_batch
from services.exporter.rocketmq import names
from services.exporter.rocketmq.collector import BrokerCollector, CannotConnect, watch
from services.exporter.settings import ExporterSettings
from tests.conftest import RocketMQFactory
from tests.processes import wait_until
from tests.services.exporter.rocketmq.test_names import THEIRS
from tests.shared_rocketmq import RocketMQ

OF_CLIENTS_OF_JAVA = {name for name in THEIRS if name.startswith("rocketmq_client_")}
AT_TIMES = {
    "rocketmq_broker_commitlog_diff",
    "rocketmq_group_retrydiff",
    "rocketmq_send_back_nums",
    "rocketmq_topic_dlq_offset",
    "rocketmq_topic_retry_offset",
}
"""Of replicas, of what was sent back, and of topics that there are only then."""


def settings(name_server: str, **more: object) -> ExporterSettings:
    return ExporterSettings(state_address="h:1", cluster_address="h:1", rocketmq_metrics=True, name_server=name_server, **more)  # type: ignore[arg-type]


def samples(of: BrokerCollector, name: str, **labels: str) -> list[float]:
    """The values of the series of this metric with these labels, among others."""
    found = [sample for metric in of.collect() for sample in metric.samples if sample.name == name]
    return [sample.value for sample in found if labels.items() <= sample.labels.items()]


def rounds(of: BrokerCollector) -> float:
    return next(iter(samples(of, "rocketconnect_rocketmq_round_timestamp_seconds")), 0.0)


@pytest.fixture
def collector(rocketmq: RocketMQ) -> Iterator[BrokerCollector]:
    made = watch(settings(rocketmq.name_server, rocketmq_interval_seconds=1.0, rocketmq_most=100_000))
    yield made
    made.close()


@pytest.mark.rocketmq
def test_the_numbers_are_what_was_sent_and_consumed(rocketmq: RocketMQ, collector: BrokerCollector) -> None:
    topic, group = f"watched_{uuid.uuid4().hex}", f"group_{uuid.uuid4().hex}"
    with Client(rocketmq.name_server, timeout=10) as client:
        client.create_topic(topic, queues=2)
        client.create_group(group)
        first, second = client.queues(topic)
        began = time.time()
        client.send_batch(first, encode_batch([b"x"] * 10))
        client.send(second, Message(b"y"))
        client.barrier(first.broker, 10)
        client.commit_offset(group, first, 4)
        client.commit_offset(group, second, 1)
        sent = time.time()
        wait_until(lambda: samples(collector, "rocketmq_producer_offset", topic=topic) == [11], 400)
        wait_until(lambda: samples(collector, "rocketmq_consumer_offset", topic=topic, group=group) == [5], 400)
        wait_until(lambda: samples(collector, "rocketmq_group_diff", topic=topic, group=group) == [6], 400)
        waited: list[float] = []

        def known() -> bool:
            waited[:] = samples(collector, "rocketmq_group_get_latency_by_storetime", topic=topic, group=group)
            return bool(waited)

        wait_until(known, 400)
        assert 0 < waited[0] <= (time.time() - began) * 1000
        client.commit_offset(group, first, 10)
        wait_until(lambda: samples(collector, "rocketmq_group_diff", topic=topic, group=group) == [0], 400)
        wait_until(lambda: samples(collector, "rocketmq_group_get_latency_by_storetime", topic=topic, group=group) == [0], 400)
        wait_until(lambda: samples(collector, "rocketmq_producer_count", group=client.group) >= [1], 400)
        client.delete_topic(topic)
    wait_until(lambda: samples(collector, "rocketconnect_rocketmq_up", address=rocketmq.broker) == [1], 400)
    wait_until(lambda: samples(collector, "rocketmq_brokeruntime_putmessage_times_total") >= [11], 400)
    wait_until(lambda: [0.0] < samples(collector, "rocketmq_brokeruntime_commitlog_disk_ratio") < [1.0], 400)
    assert rounds(collector) > sent


@pytest.mark.slow
@pytest.mark.rocketmq
def test_all_metrics_of_rocketmq_exporter_have_data_of_a_running_broker(rocketmq: RocketMQ, collector: BrokerCollector) -> None:
    topic, group = f"watched_{uuid.uuid4().hex}", f"group_{uuid.uuid4().hex}"
    with Client(rocketmq.name_server, timeout=10) as client:
        client.create_topic(topic, queues=1)
        client.create_group(group)
        (queue,) = client.queues(topic)

        def missing() -> set[str]:
            client.send_batch(queue, encode_batch([b"x" * 100] * 10))
            client.pull(queue, 0, group=group)
            client.commit_offset(group, queue, 1)
            there = {metric.name for metric in collector.collect()}
            return {name for name in THEIRS.keys() - there if not name.endswith("_tps600")} - OF_CLIENTS_OF_JAVA - AT_TIMES

        # A broker tells how long messages took to put when its first minute is over, and rates of ten minutes after those.
        wait_until(lambda: missing() == names.MISSING.keys() & THEIRS.keys(), 400)
        # Counted once in ten seconds, over the last minute.
        wait_until(lambda: bool(missing()) and samples(collector, "rocketmq_producer_tps", topic=topic) > [0.0], 400)
        assert samples(collector, "rocketmq_consumer_tps", topic=topic, group=group) > [0.0]
        client.delete_topic(topic)


@pytest.mark.slow
@pytest.mark.rocketmq
def test_a_consumer_in_java_tells_of_itself_and_what_it_sends_back_is_told(
    rocketmq: RocketMQ, collector: BrokerCollector, tmp_path: Path
) -> None:
    topic, group = f"watched_{uuid.uuid4().hex}", f"group_{uuid.uuid4().hex}"
    with Client(rocketmq.name_server, timeout=10) as client:
        client.create_topic(topic, queues=1)
        (queue,) = client.queues(topic)
        with _consuming(rocketmq, tmp_path, group, topic):

            def missing() -> set[str]:
                client.send_batch(queue, encode_batch([b"good"] * 9 + [b"bad"]))
                of_client = {"group": group, "topic": topic}
                return {name for name in OF_CLIENTS_OF_JAVA if not any(samples(collector, name, **of_client))}

            # Of what failed an hour, and of all else a minute, begins with the next sample: each ten seconds, each ten minutes.
            wait_until(lambda: missing() <= {"rocketmq_client_consume_fail_msg_count", "rocketmq_client_consume_rt"}, 400)
            wait_until(lambda: samples(collector, "rocketmq_send_back_nums", topic=topic, group=group) > [0.0], 400)
            wait_until(lambda: samples(collector, "rocketmq_group_count", group=group) == [1], 400)
            # They come there later, as each time is a longer while after the one before.
            for name in ("rocketmq_topic_retry_offset", "rocketmq_group_retrydiff"):
                wait_until(lambda name=name: samples(collector, name, topic=f"%RETRY%{group}") != [], 400)  # type: ignore[misc]
        client.delete_topic(topic)


@contextmanager
def _consuming(rocketmq: RocketMQ, folder: Path, group: str, topic: str) -> Iterator[None]:
    source = str(Path(__file__).with_name("Consumer.java"))
    java = [str(find_javac().with_name("java")), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Duser.home={folder}"]
    command = [*java, "-cp", f"{rocketmq.jars}/*", source, rocketmq.name_server, group, topic]
    with (folder / "log").open("wb") as log, subprocess.Popen(tethered(command), stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.rocketmq
def test_brokers_that_ask_who_calls_answer_a_super_user_and_a_stranger_makes_them_ones_that_are_away(
    acl_rocketmq: EmbeddedRocketMQ,
) -> None:
    for secret, answers in (("root-secret", 1), ("another", 0)):
        made = watch(settings(acl_rocketmq.name_server, rocketmq_access_key="root", rocketmq_secret_key=secret))
        try:

            def told(made: BrokerCollector = made) -> tuple[list[float], bool]:
                up = samples(made, "rocketconnect_rocketmq_up", address=acl_rocketmq.broker)
                return up, bool(samples(made, "rocketmq_producer_offset"))

            wait_until(lambda told=told, expected=([answers], bool(answers)): told() == expected, 400)  # type: ignore[misc]
        finally:
            made.close()


@pytest.mark.slow
@pytest.mark.rocketmq
def test_a_broker_that_dies_is_a_0_and_what_it_said_is_told_no_longer(rocketmq_factory: RocketMQFactory) -> None:
    server = rocketmq_factory({})
    broker = server.broker
    made = watch(settings(server.name_server, rocketmq_interval_seconds=1.0))
    try:
        wait_until(lambda: samples(made, "rocketconnect_rocketmq_up", address=broker) == [1], 400)
        server.kill()
        wait_until(lambda: samples(made, "rocketconnect_rocketmq_up", address=broker) == [0], 400)
        wait_until(lambda: samples(made, "rocketconnect_rocketmq_name_server_up") == [0], 400)
        assert samples(made, "rocketmq_producer_offset") == []
    finally:
        made.close()


def test_where_no_name_server_answers_a_scrape_says_so_and_waits_for_nothing(unused_tcp_port: int) -> None:
    made = watch(settings(f"127.0.0.1:{unused_tcp_port}"))
    try:
        wait_until(lambda: rounds(made) > 0, 400)
        assert samples(made, "rocketconnect_rocketmq_name_server_up") == [0]
        assert samples(made, "rocketconnect_rocketmq_up") == []
    finally:
        made.close()


def test_a_name_server_that_is_no_address_is_said() -> None:
    with pytest.raises(CannotConnect, match=r"--name-server 'nowhere': 'nowhere' is no address: write host:port"):
        watch(settings("nowhere"))
