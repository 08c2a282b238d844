"""Finds plugins: the built-in connectors under `connectors`, those of installed packages by their entry points, and all others.

A package offers its connectors by an entry point for each, in its pyproject.toml:

    [project.entry-points."rocketconnect.connectors"]
    weather_source = "weather_connect.source:WeatherSource"

Nothing here imports pyspark: a sink module imports it inside its functions.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import ClassVar, Protocol

from rocketconnect_sdk import converters, transforms
from rocketconnect_sdk.columns.sinks import ArrowSink, DataFrameSink
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.plugins.installed import OURS, Package, installed, package_of
from rocketconnect_sdk.sink import BufferedSink, RecordSink, Sink
from rocketconnect_sdk.source import Signal, Source, never
from rocketconnect_sdk.spark.needs import NOTHING, SparkNeeds

GROUP = "rocketconnect.connectors"
DIRECT = "direct"
CONFIGURED = "depends on the configuration"
"""The guarantee of a source whose configuration decides whether it can replay."""


class PluginType(Enum):
    """What a plugin is: the direction of a connector, or another kind."""

    SOURCE = "SOURCE"
    SINK = "SINK"
    DIRECT = "DIRECT"
    CONVERTER = "CONVERTER"
    TRANSFORM = "TRANSFORM"
    PREDICATE = "PREDICATE"

    @property
    def is_connector(self) -> bool:
        """Whether a connector.class can name it."""
        return self in (PluginType.SOURCE, PluginType.SINK, PluginType.DIRECT)


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """What is said of a plugin.

    Attributes:
        name: What users write into connector.class, key.converter, value.converter, or the type of a transform or predicate.
        aliases: Other names that it answers to.
        type: What it is.
        package: Where it comes from, with its version.
        summary: What it does, in one line.
        documentation: What else there is to say of it; paragraphs with empty lines between them.
        options: Its own options; those that every connector has are in rocketconnect_sdk.configuration.connector_options.
        guarantee: Of a connector: EXACTLY_ONCE, IDEMPOTENT, AT_LEAST_ONCE, or CONFIGURED.
        engines: Of a sink: spark, native or both.
        signals: Of a source: what people can tell its running tasks.
        needs: Of a sink on Spark: jars and settings.
    """

    name: str
    aliases: Sequence[str]
    type: PluginType
    package: Package
    summary: str
    documentation: str
    options: Sequence[Option]
    guarantee: str
    engines: Sequence[str] = ()
    signals: Sequence[Signal] = ()
    needs: SparkNeeds = NOTHING


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All connectors that could be loaded, and what kept others from it.

    Attributes:
        connectors: By name.
        packages: By name of the connector: where it comes from.
        broken: By name of the module or entry point, of whatever kind: why it could not be loaded.
    """

    connectors: dict[str, Source | Sink]
    packages: dict[str, Package]
    broken: dict[str, str]


@cache
def catalogue() -> Catalogue:
    """Everything there is. Read once in a process: a reload is a new process."""
    found: dict[str, Source | Sink] = {}
    packages: dict[str, Package] = {}
    broken: dict[str, str] = {}
    for where, package, load in _places():
        try:
            for kind in load():
                _refuse_taken_name(kind)
                if kind.name not in found:
                    found[kind.name] = kind()
                    packages[kind.name] = package
        except Exception as error:  # whatever a foreign module does: it is reported, and the others still load
            broken[where] = f"{type(error).__name__}: {error}"
    for kind_of_plugin in _KINDS.values():
        for name in kind_of_plugin.installed():
            if name in _taken() - kind_of_plugin.own():
                broken[f"{name} ({kind_of_plugin.group})"] = _TAKEN.format(name)
                continue
            try:
                kind_of_plugin.find(name)
            except ConfigError as error:
                broken[name] = error.problems[0].reason
    return Catalogue(dict(sorted(found.items())), packages, broken)


def plugins() -> Sequence[PluginInfo]:
    """What there is, of all kinds, by name."""
    direct = PluginInfo(
        DIRECT,
        (),
        PluginType.DIRECT,
        OURS,
        "A source and a record sink in one task, without a topic.",
        "It delivers as its sink does, at most exactly once.",
        (),
        "EXACTLY_ONCE",
    )
    infos = [_info(connector) for connector in catalogue().connectors.values()]
    return sorted([*infos, *_others(), direct], key=lambda info: info.name)


def find(name: str) -> Source | Sink:
    """The connector of that name or alias. For one that comes with RocketConnect under that name nothing else is loaded.

    What comes with RocketConnect stands for an alias that others have, too.

    Raises:
        ConfigError: there is none, or it could not be loaded.
    """
    if (own := _own(name)) is not None:
        return own
    known = catalogue()
    named = [each for each in known.connectors.values() if name == each.name or name in each.aliases]
    if named:
        return min(named, key=lambda each: known.packages.get(each.name) != OURS)
    why = known.broken.get(name)
    if why:
        raise ConfigError([Problem(CLASS.key, name, f"could not be loaded: {why}", "Mend or reinstall the plugin.")])
    fix = f"Use one of {', '.join(sorted([*known.connectors, DIRECT]))}."
    for other in _others():
        if name == other.name or name in other.aliases:
            kind = other.type.value.lower()
            raise ConfigError([Problem(CLASS.key, name, f"is a {kind}, not a connector", f"{fix} {_KINDS[other.type].where}")])
    raise ConfigError([Problem(CLASS.key, name[:200], "is not a connector of this worker", fix)])


@cache
def _own(name: str) -> Source | Sink | None:
    """The connector of that name in the module of that name; None: there is none, or it is to be told why it can't be loaded."""
    module = _own_modules().get(name)
    if module is None:
        return None
    try:
        return next((kind() for kind in _in_module(f"connectors.{module}") if kind.name == name), None)
    except Exception:
        return None


@cache
def _own_modules() -> Mapping[str, str]:
    """Where connectors are that come with RocketConnect: in the module of their name, or in the room of their system.

    Returns: of the name of a connector the module: "stdout" for stdout, "redis.group_source" for redis_group_source, and
        "http.webhook_source" for webhook_source, which does not begin with the name of its room.
    """
    found: dict[str, str] = {}
    for folder in import_module("connectors").__path__:
        own = sorted(module.name for module in iter_modules([folder]) if module.name[0] != "_")
        found |= {name: name for name in own}
        for room in own:
            inner = [module.name for module in iter_modules([f"{folder}/{room}"]) if module.name.endswith(("source", "sink"))]
            found |= {f"{room}_{name}": f"{room}.{name}" for name in inner}
            found |= {name: f"{room}.{name}" for name in inner if "_" in name and name not in found}
    return found


def _info(connector: Source | Sink) -> PluginInfo:
    if isinstance(connector, Source):
        plugin_type = PluginType.SOURCE
        guarantee = _guarantee(connector)
        engines: Sequence[str] = ()
    else:
        plugin_type = PluginType.SINK
        guarantee = connector.guarantee.value
        engines = engines_of(connector)
    return PluginInfo(
        connector.name,
        connector.aliases,
        plugin_type,
        catalogue().packages[connector.name],
        *_said_of(type(connector)),
        connector.options,
        guarantee,
        engines,
        connector.signals if isinstance(connector, Source) else (),
        connector.needs if isinstance(connector, DataFrameSink) else NOTHING,
    )


def _guarantee(source: Source) -> str:
    """Of a source, without a configuration: one with a `replayable` of its own may look at that."""
    known = {Source.replayable: "EXACTLY_ONCE", never: "AT_LEAST_ONCE"}
    return known.get(type(source).replayable, CONFIGURED)


def _others() -> Iterator[PluginInfo]:
    """The plugins that are no connectors."""
    for kind, of in _KINDS.items():
        left_out = catalogue().broken.keys() | _taken()
        others = {name: package_of(entry) for name, entry in of.installed().items() if name not in left_out}
        for name, package in {**dict.fromkeys(of.own(), OURS), **others}.items():
            found = of.find(name)
            yield PluginInfo(name, of.aliases(name), kind, package, *_said_of(found), found.options, "")


class _Optioned(Protocol):
    options: ClassVar[Sequence[Option]]


@dataclass(frozen=True, slots=True)
class _KindOfPlugin:
    """A kind that is no connector: its names, its classes, and where users write the names."""

    group: str
    built_in: Callable[[], Iterable[str]]
    find: Callable[[str], type[_Optioned]]
    aliases: Callable[[str], Sequence[str]]
    where: str

    def own(self) -> set[str]:
        """The names of those that come with RocketConnect."""
        return set(self.built_in())

    def installed(self) -> Mapping[str, EntryPoint]:
        """Those of other packages, by name; none of them is loaded."""
        return installed(self.group, self.own())


_TAKEN = "{!r} is the name of a plugin that comes with RocketConnect: choose another"


def _taken() -> set[str]:
    return {DIRECT}.union(*(of.own() for of in _KINDS.values()))


_KINDS = {
    PluginType.CONVERTER: _KindOfPlugin(
        converters.GROUP,
        lambda: converters.BUILT_IN,
        converters.converter_class,
        converters.class_names,
        "Converters are named in key.converter and value.converter.",
    ),
    PluginType.TRANSFORM: _KindOfPlugin(
        transforms.TRANSFORMS,
        transforms.built_in_transforms,
        lambda name: transforms.transform_class(name)[0],
        lambda name: transforms.transform_class(name)[0].aliases,
        "Transforms are named in transforms.NAME.type.",
    ),
    PluginType.PREDICATE: _KindOfPlugin(
        transforms.PREDICATES,
        transforms.built_in_predicates,
        transforms.predicate_class,
        lambda name: transforms.predicate_class(name).aliases,
        "Predicates are named in predicates.NAME.type.",
    ),
}


GROUPS = (GROUP, *(of.group for of in _KINDS.values()))
"""The groups of entry points by which packages offer plugins."""


def _said_of(kind: type) -> tuple[str, str]:
    """The first line of its docstring, and the rest without the ends of lines within paragraphs.

    Not inspect.getdoc: what a base class says is for who writes plugins.
    """
    summary, _, rest = inspect.cleandoc(kind.__doc__ or "").partition("\n")
    return summary, "\n\n".join(" ".join(paragraph.split()) for paragraph in rest.strip().split("\n\n"))


def _refuse_taken_name(kind: type[Source] | type[Sink]) -> None:
    """Plugins are told apart by their names."""
    if kind.name in _taken():
        raise ValueError(_TAKEN.format(kind.name))


def engines_of(sink: Sink) -> Sequence[str]:
    """Which engines can run it, the default first."""
    both = [("spark", (DataFrameSink, RecordSink)), ("native", (ArrowSink, RecordSink, BufferedSink))]
    return tuple(engine for engine, kinds in both if isinstance(sink, kinds))


Kind = type[Source] | type[Sink]


def _places() -> Iterator[tuple[str, Package, Callable[[], Iterable[Kind]]]]:
    """Where connectors are: a name for each place, its package, and what loads the classes in it."""
    for module in sorted(set(_own_modules().values())):
        yield module, OURS, partial(_in_module, f"connectors.{module}")
    for room in _offering_rooms():
        yield from import_module(f"connectors.{room}.offered").places()
    for entry in entry_points(group=GROUP):
        yield entry.name, package_of(entry), partial(_in_entry_point, entry)


def _offering_rooms() -> Iterator[str]:
    """Rooms whose module `offered` has connectors of plugins that are installed in another way: its `places` are as ours."""
    for folder in import_module("connectors").__path__:
        yield from sorted(found.parent.name for found in Path(folder).glob("*/offered.py"))


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
