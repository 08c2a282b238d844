"""The connectors of the plugins of RocketMQ Connect that are installed, as classes of the SDK."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from connectors.kafka_connect.options import HEAP
from connectors.rocketmq_connect.sinks import PluginSink
from connectors.rocketmq_connect.sources import PluginSource
from rocketconnect_sdk.plugins.installed import Package
from rocketconnect_sdk.plugins.kafka import ROCKETMQ, JavaConnector, JavaPlugin, installed, told_folder
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.translations.tables import JAVA

Kind = type[Source] | type[Sink]


def places() -> Iterator[tuple[str, Package, Callable[[], Iterable[Kind]]]]:
    """For each plugin: its name, what it is of, and what makes its classes. Starts no Java."""
    folder = told_folder()
    if folder is None:
        return
    try:
        plugins = installed(folder)
    except ValueError:
        # Plugins of Kafka Connect are in the same folder: who offers those tells of it.
        return
    for plugin in plugins:
        if own := [connector for connector in plugin.connectors if connector.api == ROCKETMQ]:
            yield plugin.name, Package(plugin.name, plugin.version), partial(_kinds, plugin, own)


def kind_of(plugin: JavaPlugin, connector: JavaConnector) -> Kind:
    """The class of a connector. Its class in Java alone may be the name of one of ours, which then stands for that."""
    base: Kind = PluginSource if connector.direction == "source" else PluginSink
    said = {
        "__doc__": f"A {connector.direction} of RocketMQ Connect, in Java, of {plugin.origin}.",
        "name": f"{JAVA}{connector.name}",
        "aliases": (connector.name,),
        "options": (HEAP,),
        "plugin": plugin,
        "connector": connector,
    }
    return type(connector.name.rpartition(".")[2], (base,), said)


def _kinds(plugin: JavaPlugin, connectors: list[JavaConnector]) -> list[Kind]:
    return [kind_of(plugin, connector) for connector in connectors]
