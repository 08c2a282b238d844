"""What a task reads and writes, by the naming rules of OpenLineage, from its configuration alone."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from rocketconnect_sdk.options import Config, OptionWrong
from rocketconnect_sdk.origins.origin import FILES, OBJECTS, Origin
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source
from services.executor.contract.datasets import Dataset, Datasets
from services.executor.secrets.resolving import hide

_DATABASES = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_STORES = frozenset({"s3", "s3a", "gs", "abfs", "abfss", "hdfs", "wasbs", "az", "azure"})
_QUERY = "?query="
_UNKNOWN = "~\n"
"""Before a regular expression that chooses tables: see tables_of."""


def of_source(plugin: Source, config: Config, name_servers: str) -> Datasets:
    """Of a source task: what it reads, and the topics whose names do not depend on its records."""
    topics = dict.fromkeys(each.into or config["topic"] for each in _origins(plugin, config)) or [config["topic"]]
    return Datasets(_inputs(plugin, config), _topics(name_servers, (topic for topic in topics if topic and "${" not in topic)))


def of_sink(plugin: Sink, config: Config, name_servers: str) -> Datasets:
    """Of a sink task: its topics, and what it writes."""
    return Datasets(_topics(name_servers, config["topics"]), _outputs(plugin, config))


def of_direct(source: Source, source_config: Config, sink: Sink, sink_config: Config) -> Datasets:
    """Of a task that copies without a topic."""
    return Datasets(_inputs(source, source_config), _outputs(sink, sink_config))


def systems_of_source(plugin: Source, config: Config) -> str:
    """What a source asks over a network, for people: "mysql://db:3306"; empty: nothing, or it can't be told. Never raises."""
    # What is wrong with the plugin or its configuration its start tells.
    with suppress(Exception):
        return _systems(_inputs(plugin, config))
    return ""


def systems_of_sink(plugin: Sink, config: Config) -> str:
    """What a sink writes over a network: see systems_of_source."""
    with suppress(Exception):
        return _systems(_outputs(plugin, config))
    return ""


def _systems(found: Iterable[Dataset]) -> str:
    return ", ".join(dict.fromkeys(hide(each.namespace) for each in found if each.namespace.partition("://")[2]))


def named(place: str, name: str = "") -> Dataset:
    """A place as origins and targets name it, "postgresql://db:5432/shop/", with what is there, as OpenLineage names it.

    A pattern of names stays one: "shop.public.*".
    """
    name = name.removeprefix(_UNKNOWN).partition("\n")[0]
    place, _, within = place.partition(" ")
    name = f"{within.strip()}{name}"
    url = _split(place)
    # A file has nothing but its path.
    if place == FILES or (url.scheme == "file" and not url.netloc):
        return Dataset("file", hide(name or url.path))
    if url.scheme in _STORES:
        scheme = "s3" if url.scheme == "s3a" else url.scheme
        # What stands before the bucket may be a login; the container of an account is one word.
        login, _, rest = url.netloc.rpartition("@")
        bucket = rest if ":" in login else url.netloc
        return Dataset(f"{scheme}://{bucket}", hide("/".join(filter(None, (url.path.strip("/"), name))) or "/"))
    if url.scheme == "sqlite":
        return Dataset("file", hide(f"{url.path}#{name}" if name else url.path))
    database = url.path.strip("/").replace("/", ".")
    namespace = f"{_DATABASES.get(url.scheme, url.scheme)}://{url.netloc.rpartition('@')[2]}"
    return Dataset(namespace, hide(".".join(filter(None, (database, name))) or "/"))


def _split(place: str) -> SplitResult:
    """The parts of a place. Several addresses, of which one is of IPv6, are no URL."""
    try:
        return urlsplit(place)
    except ValueError:
        scheme, _, rest = place.partition("://")
        netloc, _, path = rest.partition("/")
        return SplitResult(scheme, netloc, path.partition("?")[0], "", "")


def _topics(name_servers: str, topics: Iterable[str]) -> tuple[Dataset, ...]:
    namespace = f"rocketmq://{name_servers.partition(';')[0].strip()}"
    return tuple(Dataset(namespace, topic) for topic in topics)


def _inputs(plugin: Source, config: Config) -> tuple[Dataset, ...]:
    # Which tables a query reads is known to its database alone.
    found = (each for each in _origins(plugin, config) if not each.place.endswith(_QUERY))
    return tuple(dict.fromkeys(named(each.name) if each.place == OBJECTS else named(each.place, each.name) for each in found))


def _origins(plugin: Source, config: Config) -> Sequence[Origin]:
    with suppress(OptionWrong):
        return tuple(plugin.origins(config) or ())
    return ()


def _outputs(plugin: Sink, config: Config) -> tuple[Dataset, ...]:
    found: list[Dataset] = []
    with suppress(OptionWrong):
        found = [named(each) for each in _places(each.name for each in plugin.targets(config))]
    return tuple(dict.fromkeys(found)) or tuple(_tables(config))


def _places(names: Iterable[str]) -> Iterator[str]:
    """A directory that several may write to has an owner for each topic: "topic orders in file:///data"."""
    for name in names:
        topic, found, place = name.partition(" in ")
        yield place if found and topic.startswith("topic ") else name


def _tables(config: Config) -> Iterator[Dataset]:
    """What a sink of a database writes, which others may write as well, so that it is no target of its own."""
    with suppress(KeyError, ValueError):
        url, table = str(config["connection.url"]).removeprefix("jdbc:"), str(config["table.name.format"])
        scheme, _, rest = url.partition(":")
        for topic in config["topics"]:
            yield named(f"{scheme.partition('+')[0]}:{rest}", table.replace("${topic}", topic))
