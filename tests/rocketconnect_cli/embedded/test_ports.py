"""The choice of ports."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import PortInUse, ports


@contextmanager
def _taken(port: int) -> Iterator[None]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen(1)
        yield


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_GRACE_SECONDS", 0.2)


def test_a_chosen_port_is_free_with_its_neighbours() -> None:
    port = ports.choose(ports.BROKER_OFFSETS)
    assert all(ports.is_free(port + offset) for offset in (0, 1, -2))


def test_outgoing_connections_never_get_a_chosen_port() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(ports.choose(ports.BROKER_OFFSETS) + 1 < lowest for _ in range(50))


def test_a_port_that_somebody_listens_on_is_not_free() -> None:
    port = ports.choose()
    with _taken(port):
        assert not ports.is_free(port)
    assert ports.is_free(port)


def test_a_number_that_is_no_port_is_not_free() -> None:
    assert not ports.is_free(65536)


def test_a_wanted_port_is_taken_even_if_another_was_kept() -> None:
    wanted, kept = ports.choose(), ports.choose()
    assert ports.settle("broker", wanted, kept, (0,)) == wanted


def test_a_kept_port_is_used_again() -> None:
    kept = ports.choose(ports.BROKER_OFFSETS)
    assert ports.settle("broker", 0, kept, ports.BROKER_OFFSETS) == kept


def test_a_kept_port_is_replaced_when_a_neighbour_is_taken() -> None:
    kept = ports.choose(ports.BROKER_OFFSETS)
    with _taken(kept - 2):
        assert ports.settle("broker", 0, kept, ports.BROKER_OFFSETS) != kept


def test_ports_that_are_promised_to_others_are_left_to_them() -> None:
    kept = ports.choose(ports.BROKER_OFFSETS)
    assert ports.settle("broker", 0, kept, ports.BROKER_OFFSETS, {kept - 2}) != kept
    with pytest.raises(PortInUse, match=f"broker: port {kept + 1} is in use"):
        ports.settle("broker", kept, 0, ports.BROKER_OFFSETS, {kept + 1})
    everything_but_one = set(range(15000, 60000)) - {kept, kept + 1, kept - 2}
    with pytest.raises(PortInUse, match="no free port was found"):
        ports.choose(ports.BROKER_OFFSETS, everything_but_one | {kept})


def test_a_wanted_port_in_use_is_refused_by_number() -> None:
    wanted = ports.choose(ports.BROKER_OFFSETS)
    with _taken(wanted + 1), pytest.raises(PortInUse, match=f"broker: port {wanted + 1} is in use.*choose another"):
        ports.settle("broker", wanted, 0, ports.BROKER_OFFSETS)
