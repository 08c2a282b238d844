"""Ports that servers of tests are given."""

import random

import pytest

from tests import free_ports


def test_no_port_is_given_twice_nor_to_two_workers_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_ports, "_WORKERS", 2)
    given = {}
    for worker in (0, 1):
        monkeypatch.setattr(free_ports, "_WORKER", worker)
        given[worker] = [free_ports.choose() for _ in range(100)]
    assert len({*given[0], *given[1]}) == 200
    assert {port % 2 for port in given[0]} == {0}


def test_a_port_that_another_server_has_chosen_by_itself_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, free = free_ports.choose(), free_ports.choose()
    monkeypatch.setattr(free_ports, "_given", set())
    drawn = iter([theirs, free])
    monkeypatch.setattr(random.SystemRandom, "randrange", lambda *_arguments: next(drawn))
    free_ports.promise(theirs)
    assert free_ports.choose() == free
