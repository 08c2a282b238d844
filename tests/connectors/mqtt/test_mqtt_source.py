"""What messages of MQTT become, and what goes wrong."""

import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from connectors.mqtt import packets
from connectors.mqtt.messages import headers_of
from connectors.mqtt.packets import Publish
from connectors.mqtt.source import MqttSource
from rocketconnect_sdk.configuration.connector_options import check_connector, source_options
from rocketconnect_sdk.conformance.queue import QueueCase, driving
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Rejected, SourceBatch
from rocketconnect_sdk.routes.allowed import Routes
from rocketconnect_sdk.source import SourceTask
from rocketconnect_sdk.transforms.chain import Chain
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.transforms import of_topics
from tests.servers.mqtt.mosquitto import Mosquitto


def config_of(broker: Mosquitto, **given: str) -> dict[str, str]:
    return {"url": broker.url, "filters": f"{broker.root}/#", **{key.replace("_", "."): value for key, value in given.items()}}


@contextmanager
def reading(broker: Mosquitto, context: TaskContext | None = None, **given: str) -> Iterator[SourceTask]:
    source = MqttSource()
    task = source.open(parse(source.options, config_of(broker, **given)), {"share": "0/1"}, context or TaskContext())
    try:
        task.start({})
        yield task
    finally:
        task.close()


def records(task: SourceTask, count: int) -> SourceBatch:
    """The first so many records, as one batch."""
    found: list[SourceBatch] = []
    while sum(map(len, found)) < count:
        found += [batch for batch in batches_of(task.poll()) if len(batch)]
    return SourceBatch.concat(found)


def problems(given: Mapping[str, str]) -> dict[str, str]:
    source = MqttSource()
    try:
        return {each.key: each.reason for each in source.check(parse(source.options, given))}
    except ConfigError as error:
        return {each.key: each.reason for each in error.problems}


def properties(**given: Any) -> Properties:
    made = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    for name, value in given.items():
        setattr(made, name, value)
    return made


def test_what_mqtt_vouches_for_no_property_of_a_sender_says() -> None:
    sent = Publish("real", b"x", properties={packets.USER: [("mqtt.topic", "forged"), ("mqtt.retained", "true"), ("mine", "x")]})
    assert headers_of(sent) == {
        "user.mqtt.topic": "forged",
        "user.mqtt.retained": "true",
        "mine": "x",
        "mqtt.topic": "real",
        "mqtt.qos": "0",
    }


def test_properties_are_headers_and_levels_make_key_and_topic(broker: Mosquitto) -> None:
    more = properties(
        UserProperty=[("unit", "C"), ("who", "a"), ("who", "b")],
        ContentType="text/plain",
        ResponseTopic="r/t",
        CorrelationData=b"\x01\xff",
        MessageExpiryInterval=100,
    )
    with reading(broker, key="${2}", topic_template="plant-${2}/${9}") as task:
        broker.publish(f"{broker.root}/k ü/t", ["21"], 1, properties=more)
        batch = records(task, 1)
    assert (batch.values, batch.keys, batch.topics) == (["21"], ["k ü"], ["plant-k___"])
    assert batch.headers is not None
    headers = dict(batch.headers[0])
    assert headers.pop("mqtt.message.expiry") in ("99", "100")
    assert headers == {
        "unit": "C",
        "who": "a,b",
        "mqtt.topic": f"{broker.root}/k ü/t",
        "mqtt.qos": "1",
        "mqtt.content.type": "text/plain",
        "mqtt.response.topic": "r/t",
        "mqtt.correlation.data": "01ff",
    }


def test_a_topic_that_is_made_of_levels_needs_a_pattern_of_topics_and_keeps_to_it(broker: Mosquitto) -> None:
    given = {**config_of(broker, topic_template="${2}"), "connector.class": "mqtt_source", "topic": "plant"}
    (problem,) = [each for each in check_connector(given).problems if not each.is_warning]
    assert (problem.key, problem.reason) == (
        "topic.allowed",
        "is needed with topic.template=${2}: else who sends a record chooses any topic",
    )
    given["topic.allowed"] = "line-.*"
    assert [each for each in check_connector(given).problems if not each.is_warning] == []
    source = MqttSource()
    with reading(broker, topic_template="${2}") as task:
        for level in ("line-a", "RCREPLAY_uid", "%DLQ%group", "other"):
            broker.publish(f"{broker.root}/{level}", [level])
        batch = records(task, 4)
    (routed,) = of_topics(Chain([]), batch, Routes.of(parse(source_options(source), given)))
    assert routed.topics == ["line-a", "", "", ""]
    assert [isinstance(value, Failure) for value in routed.values] == [False, True, True, True]


@pytest.mark.parametrize("version", ["5", pytest.param("3.1.1", marks=pytest.mark.slow)])
def test_what_is_retained_is_flagged_and_comes_once_for_a_session(broker: Mosquitto, version: str) -> None:
    broker.publish(f"{broker.root}/r", ["kept"], retain=True)
    case = QueueCase(MqttSource(), config_of(broker, version=version), lambda texts: None)
    positions: dict[str, Any] = {}
    with driving(case, positions) as driver:
        assert driver.read(1).settle(0.1).values == ["kept"]
    with driving(case, positions, epoch=2) as driver:
        assert driver.settle(0.2).values == []


def test_filters_that_are_not_wanted_any_more_are_ended(broker: Mosquitto) -> None:
    positions: dict[str, Any] = {}
    for filters, wanted in (("a", ["1"]), ("b", ["2"])):
        case = QueueCase(MqttSource(), {**config_of(broker), "filters": f"{broker.root}/{filters}"}, lambda texts: None)
        with driving(case, positions, epoch=ord(filters)) as driver:
            driver.settle(0.1)
            broker.publish(f"{broker.root}/a", ["1"])
            broker.publish(f"{broker.root}/b", ["2"])
            assert driver.read(1).settle(0.1).values == wanted


def test_what_is_too_large_or_no_text_is_a_bad_record_and_nothing_else_is(broker: Mosquitto) -> None:
    large = b"x" * 3_000_000
    with reading(broker, TaskContext(max_record_bytes=1_000_000), value_format="json") as task:
        for payload in (b'{"a": 1}', b"{", large, b"2"):
            broker.publish(f"{broker.root}/a", [payload])
        first, second, third, fourth = records(task, 4).values
    assert (first, fourth) == ({"a": 1}, 2)
    assert isinstance(second, Rejected)
    assert second.error == "InvalidPayload"
    assert isinstance(third, Rejected)
    assert (third.error, third.length, third.original) == ("RecordTooLarge", 3_000_000, large[:4096])
    assert third.reason == "it has 3,000,000 bytes, and a message 1,000,000"


def test_several_tasks_need_a_shared_subscription_and_all_problems_are_told_at_once(broker: Mosquitto) -> None:
    found = problems({"url": "mqtt://me@h/x", "filters": "a/#/b,c+", "qos": "3", "key": "${x}", "topic.template": "a-${1"})
    assert found == {
        "topic.template": "has a ${ that no } closes",
        "url": "is no URL of a broker",
        "filters": "'a/#/b' has a # that is not the whole last level",
        "qos": found["qos"],
        "key": "has ${x}, which stands for nothing",
    }
    source = MqttSource()
    assert len(source.plan(parse(source.options, config_of(broker)), 3, {}).tasks) == 1
    assert len(source.plan(parse(source.options, config_of(broker, share_group="us")), 3, {}).tasks) == 3
    assert problems(config_of(broker, qos="0")) == {
        "qos": "is at most once: messages are lost while nobody is connected, and when a process ends"
    }
    found = problems(config_of(broker, password="${env:X}", ssl_ca_location="/nowhere.pem"))
    assert set(found) == {"user", "ssl.ca.location"}


def test_a_broker_that_is_away_hangs_or_is_none_is_told() -> None:
    source = MqttSource()
    with socket.create_server(("localhost", 0)) as silent:
        given = {"url": f"mqtt://localhost:{silent.getsockname()[1]}", "filters": "a", "request.timeout": "300ms"}
        task = source.open(parse(source.options, given), {"share": "0/1"}, TaskContext())
        with pytest.raises(SystemAway, match=r"does not answer within 0\.3 s"):
            task.start({})
        silent.accept()[0].close()
    with pytest.raises(SystemAway, match="does not answer"):
        task.start({})


@pytest.mark.parametrize(
    "rubbish", [b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 200, b"\x00\x00", b"\x20\xff\xff\xff\xff\xff", b"\x20\x00"]
)
def test_what_is_no_broker_is_told(rubbish: bytes) -> None:
    source = MqttSource()
    with socket.create_server(("localhost", 0)) as server:
        given = {"url": f"mqtt://localhost:{server.getsockname()[1]}", "filters": "a", "request.timeout": "5s"}
        task = source.open(parse(source.options, given), {"share": "0/1"}, TaskContext())
        server.settimeout(5)

        def answering() -> None:
            connection, _ = server.accept()
            connection.sendall(rubbish)
            connection.recv(1 << 16)
            connection.close()

        thread = Thread(target=answering)
        thread.start()
        with pytest.raises(RetriableError, match="no broker of MQTT") as raised:
            task.start({})
        assert "Kind" not in str(raised.value)
        thread.join()


def test_a_wrong_password_ends_the_task_and_the_right_one_does_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    passwords = tmp_path_factory.mktemp("mqtt") / "passwords"
    passwords.touch()
    subprocess.run(["mosquitto_passwd", "-b", str(passwords), "me", "right"], check=True, capture_output=True)
    with Mosquitto(("allow_anonymous false", f"password_file {passwords}")).running() as broker:
        for version in ("5", "3.1.1"):
            source = MqttSource()
            given = parse(source.options, config_of(broker, user="me", password="${env:P}", version=version))
            for password in ("wrong", "right"):
                config = given.replaced(lambda text, password=password: text.replace("${env:P}", password))  # type: ignore[misc]
                task = source.open(config, {"share": "0/1"}, TaskContext())
                found = [(each.key, each.is_warning) for each in source.check(config)]
                if password == "right":
                    task.start({})
                    task.close()
                    assert found == []
                    continue
                assert found == [("url", False)]
                with pytest.raises(PermanentError, match=r"the broker (does not let us|refuses user)"):
                    task.start({})


def test_both_sides_show_certificates_and_what_is_not_trusted_is_told(tmp_path: Path) -> None:
    def made(name: str) -> tuple[str, str]:
        key, certificate = str(tmp_path / f"{name}.key"), str(tmp_path / f"{name}.pem")
        words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={name}"
        more = f"-addext subjectAltName=DNS:localhost -keyout {key} -out {certificate}"
        subprocess.run(["openssl", *words.split(), *more.split()], check=True, capture_output=True)
        return key, certificate

    (broker_key, broker_pem), (our_key, our_pem) = made("broker"), made("us")
    lines = (f"cafile {our_pem}", f"certfile {broker_pem}", f"keyfile {broker_key}", "require_certificate true")
    with Mosquitto((*lines, "use_identity_as_username true"), "mqtts").running() as broker:
        ours = {"ssl_certificate_location": our_pem, "ssl_key_location": our_key}
        assert problems(config_of(broker, ssl_ca_location=broker_pem, **ours)) == {}
        (told,) = problems(config_of(broker, ssl_ca_location=our_pem, **ours)).values()
        assert "the certificate of the broker is not trusted" in told
        assert set(problems(config_of(broker, ssl_ca_location=broker_pem))) == {"url"}
        with reading(broker, None, ssl_ca_location=broker_pem, **ours) as task:
            assert batches_of(task.poll())
            assert batches_of(task.poll()) == []


@pytest.mark.slow
@pytest.mark.parametrize("qos", ["1", "2"])
def test_a_broker_that_is_killed_in_the_middle_is_waited_for_and_nothing_is_lost(qos: str) -> None:
    with Mosquitto(keeps=True).running() as broker:
        given = config_of(broker, qos=qos, request_timeout="1s")
        case = QueueCase(MqttSource(), given, lambda texts: broker.publish(f"{broker.root}/a", texts, 2))
        positions: dict[str, Any] = {}
        with driving(case, positions) as driver:
            driver.settle(0.1)
            case.publish([str(number) for number in range(50)])
            driver.read(20, commit=False)
            broker.kill()
            broker.start()
            case.publish([str(number) for number in range(50, 60)])
            end = time.monotonic() + 60
            while set(driver.values) != {str(number) for number in range(60)}:
                assert time.monotonic() < end
                driver.settle(0.1)
