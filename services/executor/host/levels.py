"""The levels of loggers in a host, as people set them while it runs."""

import logging

from rocketconnect_kit.logs import ROOT
from services.executor.contract.messages import LogLevels
from services.executor.runtime.task.log import say_tasks_from


class HostLevels:
    """Sets levels, and gives back those of the start. For the thread that reads the orders.

    Args:
        lines: What makes lines of records.
    """

    def __init__(self, lines: logging.Handler) -> None:
        self._lines = lines
        self._usual = lines.level
        self._before: dict[str, int] = {}
        self._connectors: set[str] = set()
        self._told: list[tuple[str, str, int]] = []

    def set(self, order: LogLevels) -> None:
        """These levels count from now on, and no others that were told."""
        self._told = order.levels
        self._apply()

    def runs(self, connector: str) -> None:
        """A task of this connector begins here: what was set for it counts from now on."""
        if connector not in self._connectors:
            self._connectors.add(connector)
            self._apply()

    def _apply(self) -> None:
        # The executor, which knows whose line each is, passes on those of the connector alone.
        wanted: dict[str, int] = {}
        for connector, logger, level in self._told:
            if not connector or connector in self._connectors:
                wanted[logger] = min(level, wanted.get(logger, level))
        for logger in self._before.keys() - wanted.keys():
            _logger(logger).setLevel(self._before.pop(logger))
        for logger, level in wanted.items():
            self._before.setdefault(logger, _logger(logger).level)
            _logger(logger).setLevel(level)
        self._lines.setLevel(min(self._usual, *wanted.values()) if wanted else self._usual)
        say_tasks_from({(connector, logger): level for connector, logger, level in self._told})


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
