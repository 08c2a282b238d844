"""A real Prometheus watches the seven services: the panels of all dashboards have data, and alerts fire when something breaks."""

import logging
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, start_http_server
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_cli.api import Api
from rocketconnect_cli.instance import topology
from rocketconnect_kit.tethered import tethered
from rocketmq_remoting import Client, Message, encode_batch
from tests import free_ports
from tests.conftest import RocketMQFactory
from tests.deploy.asked import queries
from tests.deploy.prometheus import Prometheus, prometheus
from tests.processes import Fleet, wait_until
from tests.rocketconnect_kit.serving.test_certificates import made
from tests.services.exporter.test_families import Said
from tests.shared_rocketmq import RocketMQ

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
_log = logging.getLogger(__name__)
_PORTS = "ROCKETCONNECT_METRICS_PORT"
_BAD_LINES = {"format": "csv", "transforms": "types", "transforms.types.type": "cast", "transforms.types.spec": "id:int64"}
_OF_OTHERS = {"RocketConnectDiskLow", "RocketConnectMemoryLow", "RocketConnectBrokerDisk", "RocketConnectBrokerLoss"}
"""What the machine has left, and what other tests do to the broker."""


@pytest.fixture
def ports() -> dict[str, int]:
    return {kind: free_ports.choose() for kind in topology.SERVICES if kind != "exporter"}


@pytest.fixture
def fleet(tmp_path: Path, rocketmq: Any, ports: dict[str, int]) -> Iterator[Fleet]:
    told = {kind: {_PORTS: str(port)} for kind, port in ports.items()}
    told["exporter"] = {"ROCKETCONNECT_ROCKETMQ_METRICS": "true", "ROCKETCONNECT_ROCKETMQ_INTERVAL_SECONDS": "5"}
    with Fleet(tmp_path, rocketmq.name_server, told_each=told).running() as made:
        yield made


@pytest.fixture
def watching(tmp_path: Path, fleet: Fleet, ports: dict[str, int]) -> Iterator[Prometheus]:
    exporter = fleet.metrics.removeprefix("http://").removesuffix("/metrics")
    targets = {"exporter": exporter, **{kind: f"127.0.0.1:{port}" for kind, port in ports.items()}}
    with prometheus(tmp_path / "prometheus", targets) as running:
        yield running


def _create(api: Api, name: str, **config: str) -> None:
    api.request("POST", "/v1/connectors", body={"name": name, "config": config})


def _send(rocketmq: Any) -> None:
    with Client(rocketmq.name_server) as client:
        client.create_topic("watched", queues=1, keep=True)
        client.send_batch(client.queues("watched")[0], [Message(b'{"id": 1, "name": "n"}')], 10)


def _has_latency(rocketmq: Any, watching: Prometheus) -> bool:
    _send(rocketmq)
    return bool(watching.ask('rocketconnect:connector_end_to_end_latency_seconds:p99{connector="watched-out"} > 0'))


def test_panels_have_data_of_a_running_pipeline_and_alerts_fire_when_it_breaks(
    fleet: Fleet, watching: Prometheus, rocketmq: RocketMQ, tmp_path: Path
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.txt"
    source.write_text("id,name\n" + "".join(f"{'x' if number % 100 == 0 else number},n\n" for number in range(1, 5001)))
    letters = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "watched-letters"}
    with Api(fleet.rest) as api:
        wait_until(lambda: bool(watching.ask('rocketconnect_workers{state="alive"} == 1')), 600)
        wait_until(lambda: bool(list(api.pages("/v1/plugins", "plugins"))), 600)
        to = {"connector.class": "file_lines", "engine": "native", "topics": "watched", "filename": str(target)}
        # A producer that is no connector gives its records a time, files give none.
        _send(rocketmq)
        _create(api, "watched-out", **to)
        _create(api, "watched-spark", **{**to, "engine": "spark", "filename": str(tmp_path / "spark.txt")})
        slowly = {"connector.class": "file_source", "topic": "watched", "filename": str(source), "max.rate.records": "200"}
        _create(api, "watched-in", **slowly, **_BAD_LINES, **letters)
        # Two scrapes with records between them.
        wait_until(lambda: bool(watching.ask('rocketconnect:connector_records_out:rate5m{connector="watched-out"} > 0')), 600)
        wait_until(lambda: bool(watching.ask('rocketconnect:connector_dead_letters:increase10m{connector="watched-in"} > 0')), 600)
        wait_until(lambda: bool(watching.ask('rocketconnect_dead_letters_waiting{connector="watched-in"} > 0')), 600)
        wait_until(partial(_has_latency, rocketmq, watching), 600)
        assert watching.ask('rocketconnect:connector_freshness_seconds{connector="watched-out"} > 0')
        assert not watching.ask('rocketconnect_task_newest_record_timestamp_seconds{connector="watched-in"}')
        # Its driver starts while all others are at work.
        wait_until(lambda: bool(watching.ask("rocketconnect_spark_driver_heap_used_bytes > 0")), 600)
        wait_until(lambda: bool(watching.ask('rate(rocketconnect_task_records_out_total{connector="watched-spark"}[5m]) > 0')), 600)
        # Series of steps begin with the first batch, and a rate needs two scrapes of them.
        wait_until(lambda: bool(watching.ask("rate(rocketconnect_spark_step_duration_seconds_count[5m])")), 600)
        # A broker tells how long messages took to put when its first minute is over.
        wait_until(lambda: bool(watching.ask("rocketmq_brokeruntime_pmdt_0ms")), 600)
        # And no other alert, as nothing else is wrong that is of this test.
        wait_until(lambda: watching.firing() - _OF_OTHERS == {"RocketConnectDeadLetters"}, 600)
        worker = watching.ask("rocketconnect_worker_tasks")[0]["metric"]["worker"]
        nothing = set()
        for each in queries():
            found = [
                watching.ask(each.expr.replace("$connector", name).replace("$worker", worker))
                for name in ("watched-in", "watched-out", "watched-spark")
            ]
            if not any(found):
                nothing.add(each.panel)
        # Nothing is wrong here, there is no TLS, and the broker has no replica and no agent; a query that finds nothing is right.
        wrong = {"Connectors that are not well", "Calls that fail", "Errors"}
        of_broker = {"Tried again by consumers", "Dead letters of consumers", "Replicas behind", "Heaps of Java", "Garbage of Java"}
        assert nothing <= wrong | {"Certificates"} | of_broker
        _create(api, "watched-failed", **{**slowly, "topic": "watched-failed"}, **_BAD_LINES, **{"errors.tolerance": "none"})
        broken = {**to, "filename": str(tmp_path / "broken.txt"), **_BAD_LINES, "transforms.types.spec": "name:int64"}
        del broken["format"]
        _create(api, "watched-broken", **broken)
        took = {"RocketConnectTaskFailed": _until_firing(watching, "RocketConnectTaskFailed")}
        # No task tells how far it is behind.
        wait_until(lambda: bool(watching.ask('rocketconnect:connector_lag_messages:sum{connector="watched-broken"} > 0')), 600)
    with Client(rocketmq.name_server, timeout=10) as client:
        topic = f"watched_{uuid.uuid4().hex}"
        client.create_topic(topic, queues=1)
        client.send_batch(client.queues(topic)[0], encode_batch([b"x"] * 10))
        wait_until(lambda: bool(watching.ask(f'rocketmq_producer_offset{{topic="{topic}"}} == 10')), 600)
        # For who looks at it that is a broker which has lost them.
        client.delete_topic(topic)
        client.create_topic(topic, queues=1)
        took["RocketConnectBrokerLoss"] = _until_firing(watching, "RocketConnectBrokerLoss")
    for kind, alert in (
        ("position", "RocketConnectPositionAway"),
        ("config", "RocketConnectServiceAway"),
        ("executor", "RocketConnectNoWorker"),
        ("exporter", "RocketConnectExporterAway"),
    ):
        fleet.kill(kind)
        took[alert] = _until_firing(watching, alert)
    _log.info("seconds until the alert fired: %s", took)


def test_a_traced_record_is_found_from_the_panel_of_latencies(tmp_path: Path) -> None:
    told = states.TaskMetrics(latencies=1, latency_seconds=3.0, latency_bounds=[1.0, 5.0], latency_buckets=[0, 1])
    told.latency_exemplars.add(trace_id="ab" * 16, seconds=3.0).time.GetCurrentTime()
    said = states.ConnectorState(connector="out", tasks=[states.TaskState(state=connectors.STATE_RUNNING, metrics=told)])
    registry = CollectorRegistry()
    registry.register(Said([said]))
    server, thread = start_http_server(0, "127.0.0.1", registry)
    (panel,) = [each.expr for each in queries() if each.panel == "From the source to here" and "0.99" in each.expr]
    try:
        with prometheus(tmp_path / "prometheus", {"exporter": f"127.0.0.1:{server.server_port}"}) as watching:
            wait_until(lambda: bool(watching.exemplars(panel.replace("$connector", "out"))), 600)
            (found,) = watching.exemplars(panel.replace("$connector", "out"))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert (found["labels"], found["value"]) == ({"trace_id": "ab" * 16}, "3")


def test_a_certificate_that_ends_a_name_server_and_a_broker_that_are_away_make_alerts_fire(
    rocketmq_factory: RocketMQFactory, tmp_path: Path
) -> None:
    server = rocketmq_factory({})
    address = f"127.0.0.1:{free_ports.choose()}"
    told = {
        "port": address.partition(":")[2],
        "tls-ca": str(made(tmp_path / "ca.pem", days=3)),
        "rocketmq-metrics": "true",
        "name-server": server.name_server,
        "rocketmq-interval-seconds": "1",
        # None of them is there.
        **{f"{kind}-address": "127.0.0.1:1" for kind in ("state", "cluster", "position")},
    }
    command = [sys.executable, "-m", "services.exporter", *(word for name, value in told.items() for word in (f"--{name}", value))]
    with subprocess.Popen(tethered(command)) as process, prometheus(tmp_path / "prometheus", {"exporter": address}) as watching:
        try:
            took = {"RocketConnectCertificateEnds": _until_firing(watching, "RocketConnectCertificateEnds")}
            wait_until(lambda: bool(watching.ask("rocketconnect_rocketmq_up == 1")), 600)
            away = {"RocketConnectBrokerAway", "RocketConnectNameServerAway"}
            # A first look that was slow may have made one fire.
            wait_until(lambda: not away & watching.firing(), 600)
            server.kill()
            took |= {alert: _until_firing(watching, alert) for alert in sorted(away)}
        finally:
            process.kill()
    _log.info("seconds until the alert fired: %s", took)


def _until_firing(watching: Prometheus, alert: str) -> float:
    began = time.monotonic()
    wait_until(lambda: alert in watching.firing(), 600)
    return round(time.monotonic() - began, 1)
