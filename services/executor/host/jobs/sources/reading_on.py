"""What is told of a source whose configuration is to change, of what it has read already."""

from collections.abc import Iterable

from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import ConfigError, ConnectorError, Problem
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Source
from services.executor.contract.questions import CheckConnector
from services.executor.secrets.resolving import resolve_known


def reading_on(order: CheckConnector, problems: Iterable[Problem]) -> list[Problem]:
    """Warnings of what would be read anew; none where something is wrong, or nothing was read."""
    if not order.positions or any(not problem.is_warning for problem in problems):
        return []
    try:
        plugin = find(order.config[CLASS.key].strip())
        if not isinstance(plugin, Source) or find(order.previous[CLASS.key].strip()) is not plugin:
            return []
        before, now = (resolve_known(parse_source(plugin, config)) for config in (order.previous, order.config))
        positions = {name: Position(tuple(given.offset)) for name, given in order.positions.items() if given.offset}
        return list(plugin.reads_on(before, now, positions))
    except (ConfigError, ConnectorError, OSError):
        # A former configuration that is not valid any more, or a system that can't tell now.
        return []
