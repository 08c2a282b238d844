"""Finds plugins: the built-in connectors under `connectors`, those of installed packages by their entry points, and converters.

A package offers its connectors by an entry point for each, in its pyproject.toml:

    [project.entry-points."rocketconnect.connectors"]
    weather_source = "weather_connect.source:WeatherSource"

Nothing here imports pyspark: a sink module imports it inside its functions.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules

from rocketconnect_sdk.converters import BUILT_IN, class_names, converter_class
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.sink import DataFrameSink, RecordSink, Sink
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.version import __version__

GROUP = "rocketconnect.connectors"
DIRECT = "direct"


class PluginType(Enum):
    """The direction of a connector, or a converter; the values are those of RocketMQ Connect where it has one."""

    SOURCE = "SOURCE"
    SINK = "SINK"
    DIRECT = "DIRECT"
    CONVERTER = "CONVERTER"


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """What is said of a plugin.

    Attributes:
        name: What users write into connector.class, or into key.converter and value.converter.
        aliases: Other names that it answers to.
        type: What it is.
        version: Its version.
        summary: One sentence of what it does.
        options: Its own options; those that every connector has are in rocketconnect_sdk.connector_options.
        guarantee: EXACTLY_ONCE, IDEMPOTENT or AT_LEAST_ONCE; empty for a converter.
        engines: Of a sink: spark, native or both.
    """

    name: str
    aliases: Sequence[str]
    type: PluginType
    version: str
    summary: str
    options: Sequence[Option]
    guarantee: str
    engines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All connectors that could be loaded, and what kept others from it.

    Attributes:
        connectors: By name.
        broken: By name of the module or entry point: why it could not be loaded.
    """

    connectors: dict[str, Source | Sink]
    broken: dict[str, str]


@cache
def catalogue() -> Catalogue:
    """Everything there is. Read once in a process: a reload is a new process."""
    found: dict[str, Source | Sink] = {}
    broken: dict[str, str] = {}
    for where, load in _places():
        try:
            for kind in load():
                _refuse_taken_name(kind)
                found.setdefault(kind.name, kind())
        except Exception as error:  # whatever a foreign module does: it is reported, and the others still load
            broken[where] = f"{type(error).__name__}: {error}"
    return Catalogue(dict(sorted(found.items())), broken)


def plugins() -> Sequence[PluginInfo]:
    """What there is, converters included, by name."""
    direct = PluginInfo(
        DIRECT, (), PluginType.DIRECT, __version__, "A source and a record sink in one task, without a topic.", (), "EXACTLY_ONCE"
    )
    infos = [_info(connector) for connector in catalogue().connectors.values()]
    return sorted([*infos, *_converters(), direct], key=lambda info: info.name)


def find(name: str) -> Source | Sink:
    """The connector of that name or alias.

    Raises:
        ConfigError: there is none, or it could not be loaded.
    """
    known = catalogue()
    for connector in known.connectors.values():
        if name == connector.name or name in connector.aliases:
            return connector
    why = known.broken.get(name)
    if why:
        raise ConfigError([Problem("connector.class", name, f"could not be loaded: {why}", "Mend or reinstall the plugin.")])
    fix = f"Use one of {', '.join(sorted([*known.connectors, DIRECT]))}."
    if any(name == converter or name in class_names(converter) for converter in BUILT_IN):
        where = "Converters are named in key.converter and value.converter."
        raise ConfigError([Problem("connector.class", name, "is a converter, not a connector", f"{fix} {where}")])
    raise ConfigError([Problem("connector.class", name[:200], "is not a connector of this worker", fix)])


def _info(connector: Source | Sink) -> PluginInfo:
    if isinstance(connector, Source):
        plugin_type = PluginType.SOURCE
        guarantee = "EXACTLY_ONCE" if connector.replayable else "AT_LEAST_ONCE"
        engines: Sequence[str] = ()
    else:
        plugin_type = PluginType.SINK
        guarantee = connector.guarantee.value
        engines = engines_of(connector)
    summary = _summary(type(connector))
    return PluginInfo(
        connector.name, connector.aliases, plugin_type, connector.version, summary, connector.options, guarantee, engines
    )


def _converters() -> Iterator[PluginInfo]:
    for name in BUILT_IN:
        kind = converter_class(name)
        yield PluginInfo(name, class_names(name), PluginType.CONVERTER, __version__, _summary(kind), kind.options, "")


def _summary(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _refuse_taken_name(kind: type[Source] | type[Sink]) -> None:
    """Plugins are told apart by their names."""
    if kind.name == DIRECT or kind.name in BUILT_IN:
        msg = f"{kind.name!r} is the name of a plugin that comes with RocketConnect: choose another"
        raise ValueError(msg)


def engines_of(sink: Sink) -> Sequence[str]:
    """Which engines can run it, the default first."""
    both = [("spark", (DataFrameSink, RecordSink)), ("native", (RecordSink,))]
    return tuple(engine for engine, kinds in both if isinstance(sink, kinds))


Kind = type[Source] | type[Sink]


def _places() -> Iterator[tuple[str, Callable[[], Iterable[Kind]]]]:
    """Where connectors are: a name for each place, and what loads the classes in it."""
    for module in iter_modules(import_module("connectors").__path__):
        if not module.name.startswith("_"):
            yield module.name, partial(_in_module, f"connectors.{module.name}")
    for entry in entry_points(group=GROUP):
        yield entry.name, partial(_in_entry_point, entry)


def _in_module(name: str) -> list[Kind]:
    module = import_module(name)
    found = (value for value in vars(module).values() if isinstance(value, type) and value.__module__.startswith(name))
    return [kind for kind in found if issubclass(kind, (Source, Sink)) and not inspect.isabstract(kind)]


def _in_entry_point(entry: EntryPoint) -> list[Kind]:
    kind = entry.load()
    if not (isinstance(kind, type) and issubclass(kind, (Source, Sink))):
        msg = f"{entry.value} is neither a Source nor a Sink"
        raise TypeError(msg)
    return [kind]
