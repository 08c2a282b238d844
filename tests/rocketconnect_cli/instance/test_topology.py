"""What `rocketconnect up` would start."""

from pathlib import Path

import pytest

from rocketconnect_cli.instance.topology import SERVICES, STAGES, UNLESS_TOLD, Ports, Rest, inner_ports, services

PORTS = Ports(rest=1, metrics=2, stores={"config": 3, "position": 4, "state": 5, "cluster": 6}, executors=(7, 8))


def test_every_service_runs_and_each_executor_is_a_worker_of_its_own() -> None:
    found = services(PORTS, data=Path("/d"), name_server="127.0.0.1:9876")
    assert {service.kind for service in found} == set(SERVICES)
    workers = [service.environment["ROCKETCONNECT_WORKER_ID"] for service in found if service.kind == "executor"]
    assert workers == ["worker-1", "worker-2"]


def test_everybody_knows_the_stores_and_the_name_server() -> None:
    for service in services(PORTS, data=Path("/d"), name_server="127.0.0.1:9876"):
        assert service.environment["ROCKETCONNECT_POSITION_ADDRESS"] == "127.0.0.1:4"
        assert service.environment["ROCKETCONNECT_NAME_SERVER"] == "127.0.0.1:9876"
        assert service.environment["ROCKETCONNECT_PORT"] == str(service.port)


def test_what_the_environment_may_say_otherwise_is_nothing_that_a_service_is_told() -> None:
    for service in services(PORTS, data=Path("/d"), name_server="n:1"):
        assert UNLESS_TOLD.keys().isdisjoint(service.environment)


def test_only_rest_and_metrics_listen_on_the_given_address() -> None:
    hosts = {
        s.name: s.environment["ROCKETCONNECT_HOST"]
        for s in services(PORTS, data=Path("/d"), name_server="n:1", rest=Rest("0.0.0.0"))
    }
    assert {name for name, host in hosts.items() if host == "0.0.0.0"} == {"gateway", "exporter"}


def test_the_exporter_asks_the_gateway_where_it_can_be_reached() -> None:
    for host, reached in (("127.0.0.1", "127.0.0.1:1"), ("0.0.0.0", "127.0.0.1:1"), ("10.0.0.5", "10.0.0.5:1")):
        (exporter,) = (s for s in services(PORTS, data=Path("/d"), name_server="n:1", rest=Rest(host)) if s.kind == "exporter")
        assert exporter.environment["ROCKETCONNECT_GATEWAY_ADDRESS"] == reached


def test_tasks_end_before_the_services_that_they_commit_to() -> None:
    assert STAGES["gateway"] < STAGES["executor"] < min(STAGES[kind] for kind in ("position", "state", "cluster", "config"))


def test_inner_ports_are_given_by_name() -> None:
    assert inner_ports(["position=9002", "executor-2=9003", "broker=9004"], 2, ("broker",)) == {
        "position": 9002,
        "executor-2": 9003,
        "broker": 9004,
    }
    assert inner_ports([], 1) == {}


def test_everything_wrong_with_inner_ports_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="there is no executor-2 here") as raised:
        inner_ports(["executor-2=1", "position", "state=70000", "config=5", "config=6", "cluster=5"], 1)
    told = str(raised.value)
    assert all(f"{text}: " in told for text in ("executor-2=1", "position", "state=70000", "config=6", "cluster=5"))
