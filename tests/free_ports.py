"""Ports for servers of tests: no two that run side by side are given the same."""

import os

from rocketconnect_cli.embedded import ports

_WORKERS = max(1, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
_given: set[int] = set()


def choose() -> int:
    """A port that is free now, that nobody was given in this process, and that no other worker of this run is given.

    Of a port that is free when it is chosen, and taken seconds later when a server wants it, tests know no way back.
    """
    while True:
        port = ports.choose(promised=_given)
        if port % _WORKERS == _WORKER:
            _given.add(port)
            return port


def promise(*ports_of_others: int) -> None:
    """These are given to nobody in this process: servers that do not listen yet have chosen them by themselves."""
    _given.update(ports_of_others)
