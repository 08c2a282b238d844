"""The connectors of the plugins of Kafka Connect that are installed, as classes of the SDK."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from connectors.kafka_connect.options import options_of
from connectors.kafka_connect.sinks import JavaSink
from connectors.kafka_connect.sources import JavaSource
from rocketconnect_sdk.plugins.installed import Package
from rocketconnect_sdk.plugins.kafka import KAFKA, JavaConnector, JavaPlugin, installed, told_folder
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source

Kind = type[Source] | type[Sink]


def places() -> Iterator[tuple[str, Package, Callable[[], Iterable[Kind]]]]:
    """For each plugin: its name, what it is of, and what makes its classes. Starts no Java."""
    folder = told_folder()
    if folder is None:
        return
    try:
        plugins = installed(folder)
    except ValueError as error:
        yield "kafka_connect", Package("", ""), partial(_broken, error)
        return
    short = Counter(_short(connector) for plugin in plugins for connector in _own(plugin))
    for plugin in plugins:
        yield (
            plugin.name,
            Package(plugin.name, plugin.version),
            partial(_kinds, plugin, {name for name in short if short[name] == 1}),
        )


def kind_of(plugin: JavaPlugin, connector: JavaConnector, aliases: Iterable[str] = ()) -> Kind:
    """The class of a connector."""
    base: Kind = JavaSource if connector.direction == "source" else JavaSink
    said = {
        "__doc__": f"A {connector.direction} of Kafka Connect, in Java, of {plugin.origin}.",
        "name": connector.name,
        "aliases": tuple(aliases),
        "options": options_of(connector),
        "plugin": plugin,
        "connector": connector,
    }
    return type(_short(connector), (base,), said)


def _kinds(plugin: JavaPlugin, unique: set[str]) -> list[Kind]:
    return [kind_of(plugin, connector, {_short(connector)} & unique) for connector in _own(plugin)]


def _own(plugin: JavaPlugin) -> list[JavaConnector]:
    """Those that are written for Kafka Connect."""
    return [connector for connector in plugin.connectors if connector.api == KAFKA]


def _short(connector: JavaConnector) -> str:
    """As Kafka Connect takes it, too."""
    return connector.name.rpartition(".")[2]


def _broken(error: ValueError) -> list[Kind]:
    raise error
