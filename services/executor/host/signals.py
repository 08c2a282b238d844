"""Whether a signal is one that the source of a task takes, and its arguments are right. Pure, but for loading the plugin."""

from collections.abc import Mapping

from rocketconnect_sdk.configuration.runtime_options import CLASS, SOURCE_CLASS
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import read
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.source import Source


def problems_of(config: Mapping[str, str], name: str, arguments: Mapping[str, str]) -> list[Problem]:
    """Everything that is wrong with a signal for tasks with this configuration.

    Raises:
        ConnectorError: the plugin is not there.
    """
    own = config[CLASS.key]
    plugin = find(config[SOURCE_CLASS.key] if own == DIRECT else own)
    known = {signal.name: signal for signal in plugin.signals} if isinstance(plugin, Source) else {}
    if name not in known:
        reason = f"is no signal of {plugin.name}"
        fix = f"Use one of: {', '.join(sorted(known))}." if known else "It takes none."
        return [Problem("signal", name, reason, fix)]
    return read(known[name].arguments, arguments, plugin=plugin.name)[1]
