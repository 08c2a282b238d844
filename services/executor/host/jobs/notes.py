"""What whoever makes a connector is told beforehand, so that nobody takes for a fault what takes its time. Pure."""

from collections.abc import Mapping

from rocketconnect_sdk.columns.sinks import ArrowSink, DataFrameSink
from rocketconnect_sdk.configuration.connector_options import parse_sink
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.sink import BufferedSink, Sink
from rocketconnect_sdk.wording.counts import counted

_TOLD_SECONDS = 5.0
"""Who waits for less notices nothing."""


def notes(config: Mapping[str, str]) -> list[str]:
    """What is to be said of a configuration in which nothing is wrong; of another one nothing."""
    name = config.get(CLASS.key, "").strip()
    try:
        plugin = find(name) if name and name != DIRECT else None
        if not isinstance(plugin, Sink):
            return []
        parsed = parse_sink(plugin, config)
    except ConfigError:
        return []
    return [*_of_batches(plugin, parsed), *_of_spark(plugin, parsed)]


def _of_batches(plugin: Sink, config: Config) -> list[str]:
    policy = plugin.flush_policy(config)
    if policy.interval < _TOLD_SECONDS:
        return []
    limits = [counted(policy.rows, "record") if policy.rows else "", counted(policy.bytes, "byte") if policy.bytes else ""]
    sooner = " or ".join(filter(None, limits))
    when = f"{policy.interval:g} s after the first record of a batch" + (f", or at {sooner}" if sooner else "")
    return [f"it writes {when} (flush.interval): until then `connector status` tells how many records wait"]


def _of_spark(plugin: Sink, config: Config) -> list[str]:
    if isinstance(plugin, BufferedSink) or config["engine"] != "spark":
        return []
    if isinstance(plugin, ArrowSink):
        return [f"engine=spark changes nothing: {plugin.name} writes without Spark. Leave it out"]
    needs = plugin.needs.title if isinstance(plugin, DataFrameSink) else ""
    jars = f", and fetches {needs} where it is not there yet" if needs else ""
    started = "10 to 60 s on a worker where none of its profile runs yet"
    return [f"it runs on Spark, which starts first, for {started}{jars}: `connector status` says so meanwhile"]
