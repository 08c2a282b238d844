"""The options that every connector has, and the check of a whole configuration."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rocketconnect_sdk.converters import converter_class
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.loader import DIRECT, PluginType, engines_of, find
from rocketconnect_sdk.options import Config, Kind, Option, parse
from rocketconnect_sdk.sink import RecordSink, Sink
from rocketconnect_sdk.source import Source


def _topic_problem(topic: str) -> str | None:
    if not 1 <= len(topic) <= 127:
        return "a topic has 1 to 127 characters"
    if not all(char.isascii() and (char.isalnum() or char in "%|-_") for char in topic):
        return "a topic is made of letters, digits and %, |, - and _"
    return None


CLASS = Option("connector.class", "The kind of connector: see `rocketconnect plugins`.", required=True)

_COMMON = (
    CLASS,
    Option(
        "max.tasks",
        "Into how many tasks the work is split at most. The connector may make fewer.",
        Kind.INT,
        "1",
        minimum=1,
        maximum=1000,
    ),
    Option(
        "worker.labels",
        "Only workers with all of these labels run it: name=value, separated by commas.",
        Kind.LIST,
        "",
        check=lambda labels: None if all("=" in label for label in labels) else "has a label that is not of the form name=value",
    ),
    Option("transforms", "Names of transforms; they come with a later version, so it must be empty.", Kind.LIST, ""),
    Option(
        "errors.tolerance",
        "What a bad record does: none ends the task, all sends it to the dead-letter topic, or leaves it out where none is named.",
        default="none",
        choices=("none", "all"),
    ),
    Option(
        "errors.retry.timeout",
        "For how many milliseconds a failed call is tried again before its task fails; -1: for ever; 0: not at all. "
        "A system that is away is waited for without a limit.",
        Kind.INT,
        "300000",
        minimum=-1,
    ),
    Option("errors.retry.delay.max.ms", "The longest wait between two tries in milliseconds.", Kind.INT, "60000", minimum=1),
    Option("errors.log.enable", "Logs each bad record: where it was and what is wrong with it.", Kind.BOOL, "true"),
    Option("errors.log.include.messages", "Logs the first part of its content, too.", Kind.BOOL, "false"),
    Option(
        "errors.deadletterqueue.topic.name",
        "The topic that bad records go to when errors.tolerance is all. It is created when it does not exist.",
        default="",
    ),
    Option(
        "errors.deadletterqueue.read.queue.nums",
        "Read queues of a dead-letter topic that is created.",
        Kind.INT,
        "8",
        minimum=1,
        maximum=1024,
    ),
    Option(
        "errors.deadletterqueue.write.queue.nums",
        "Write queues of a dead-letter topic that is created.",
        Kind.INT,
        "8",
        minimum=1,
        maximum=1024,
    ),
    Option(
        "errors.deadletterqueue.context.properties.enable",
        "Dead letters carry what is wrong, and where, in properties that begin with __connect.errors.",
        Kind.BOOL,
        "true",
    ),
    Option(
        "stall.timeout",
        "A task that has work and makes no progress for so long is reported as STALLED.",
        Kind.DURATION,
        "60s",
        minimum=1,
    ),
    Option("max.rate.records", "At most so many records a second in each task. Without it: no limit.", Kind.FLOAT, minimum=0.001),
    Option("max.rate.bytes", "At most so many bytes a second in each task. Without it: no limit.", Kind.SIZE, minimum=1),
    Option("buffer.bytes", "How much a task holds in memory at most, about.", Kind.SIZE, "32MiB", minimum=65536),
)

_CONVERTERS = (
    Option("key.converter", "How keys become bytes, and back. Its options follow with the prefix key.converter.", default="string"),
    Option(
        "value.converter",
        "How values become message bodies, and back. Its options follow with the prefix value.converter.",
        default="string",
    ),
)

_TOPIC = (
    Option("topic.auto.create", "Creates a topic that does not exist. Otherwise the task fails and names it.", Kind.BOOL, "true"),
    Option("topic.queues", "Queues of a topic that is created.", Kind.INT, "8", minimum=1, maximum=1024),
    Option(
        "topic.type",
        "What a topic becomes that is created: normal, or batch (units of many messages; faster, without tags and filters).",
        default="normal",
        choices=("normal", "batch"),
    ),
)

_SOURCE = (
    Option(
        "topic",
        "The topic that records go to.",
        required=True,
        aliases=("connect.topicname",),
        check=_topic_problem,
    ),
    *_TOPIC,
    Option("batch.bytes", "About how many bytes of values are sent at once.", Kind.SIZE, "1MiB", minimum=1, maximum=4 << 20),
    Option("batch.records", "How many records are sent at once at most.", Kind.INT, "10000", minimum=1, maximum=1_000_000),
    Option("linger", "How long a batch that is not full waits for more records.", Kind.DURATION, "0s", maximum=60),
    Option("ordering.msg.enable", "Accepted for RocketMQ Connect's sake: order is always kept.", Kind.BOOL, "true"),
)

_SINK = (
    Option(
        "topics",
        "The topics that are read, separated by commas.",
        Kind.LIST,
        required=True,
        aliases=("connect.topicnames",),
        check=lambda topics: next(filter(None, map(_topic_problem, topics)), None) if topics else "names no topic",
    ),
    *_TOPIC,
    Option(
        "engine",
        "spark, or native (without Spark: milliseconds instead of throughput).",
        default="spark",
        choices=("spark", "native"),
    ),
    Option(
        "consume.from.where",
        "Where a queue is begun that has no position yet.",
        default="CONSUME_FROM_FIRST_OFFSET",
        choices=("CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_LAST_OFFSET"),
    ),
    Option(
        "on.gap",
        "When messages between the position and the queue are gone (retention, a recreated topic): fail, or skip them and say so.",
        default="fail",
        choices=("fail", "skip"),
    ),
    Option(
        "task.group.id",
        "The consumer group under which RocketMQ's tools show the lag; empty: connect-<name of the connector>.",
        default="",
    ),
    Option("batch.bytes", "About how many bytes of values are written at once.", Kind.SIZE, "32MiB", minimum=1),
    Option("batch.records", "How many records are written at once at most.", Kind.INT, "500000", minimum=1),
)

_SOURCE_PREFIXES = ("key.converter.", "value.converter.", "transforms.")
_SINK_PREFIXES = (*_SOURCE_PREFIXES, "spark.")

_DIRECT = (
    *_COMMON,
    Option("source.connector.class", "The source. Its options follow with the prefix source.", required=True),
    Option("sink.connector.class", "The sink. Its options follow with the prefix sink.", required=True),
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    Attributes:
        plugin: The plugin's own name; empty when there is no such plugin.
        type: The direction; None when there is no such plugin.
        problems: Everything that is wrong.
        secret_keys: The keys in the configuration whose values are secrets.
    """

    plugin: str
    type: PluginType | None
    problems: Sequence[Problem]
    secret_keys: Sequence[str]


def source_options(source: Source) -> tuple[Option, ...]:
    """All options of a source connector: its own first."""
    return (*source.options, *_COMMON, *_SOURCE, *_CONVERTERS)


def sink_options(sink: Sink) -> tuple[Option, ...]:
    """All options of a sink connector: its own first. The default engine is the first that the sink can run on."""
    engines = engines_of(sink)
    mine = [replace(option, default=engines[0]) if option.key == "engine" and engines else option for option in _SINK]
    return (*sink.options, *_COMMON, *mine, *_CONVERTERS)


def direct_options() -> tuple[Option, ...]:
    """The options of a direct connector, without those of its source and sink."""
    return _DIRECT


def parse_source(source: Source, raw: Mapping[str, str]) -> Config:
    """The configuration of a source connector. Raises ConfigError with all problems."""
    return parse(source_options(source), raw, known_prefixes=_SOURCE_PREFIXES)


def parse_sink(sink: Sink, raw: Mapping[str, str]) -> Config:
    """The configuration of a sink connector. Raises ConfigError with all problems."""
    return parse(sink_options(sink), raw, known_prefixes=_SINK_PREFIXES)


def parse_direct(raw: Mapping[str, str]) -> tuple[Config, Config, Config]:
    """The configurations of a direct connector: its own, its source's and its sink's. Raises ConfigError with all problems."""
    problems: list[Problem] = []
    parts: list[Config] = []
    for prefix, kinds in (("source.", Source), ("sink.", Sink)):
        own = {key.removeprefix(prefix): value for key, value in raw.items() if key.startswith(prefix)}
        name = own.pop("connector.class", "")
        try:
            plugin = find(name) if name else None
            if plugin is not None and not isinstance(plugin, kinds):
                fix = f"Name a {prefix[:-1]}."
                problems.append(Problem(f"{prefix}connector.class", name, f"is no {prefix[:-1]}", fix))
            elif plugin is not None:
                parts.append(parse(plugin.options, own))
        except ConfigError as error:
            problems += [replace(problem, key=prefix + problem.key) for problem in error.problems]
    try:
        config = parse(_DIRECT, raw, known_prefixes=("source.", "sink.", "transforms."))
    except ConfigError as error:
        raise ConfigError([*error.problems, *problems]) from None
    if problems:
        raise ConfigError(problems)
    return config, parts[0], parts[1]


def check_connector(raw: Mapping[str, str]) -> Checked:
    """Everything that is wrong with a configuration, as far as it can be known before it runs. Changes nothing.

    Loads the plugin that it names and calls its check: run it where foreign code may run, with a time limit.
    """
    name = raw.get(CLASS.key, "").strip()
    if not name:
        return Checked("", None, [Problem(CLASS.key, "", "is required and was not given", f"Add it: {CLASS.doc}")], ())
    if name == DIRECT:
        return _check_direct(raw)
    try:
        plugin = find(name)
    except ConfigError as error:
        return Checked("", None, error.problems, ())
    if isinstance(plugin, Source):
        plugin_type, options = PluginType.SOURCE, source_options(plugin)
    else:
        plugin_type, options = PluginType.SINK, sink_options(plugin)
    problems: list[Problem] = []
    try:
        config = parse_source(plugin, raw) if isinstance(plugin, Source) else parse_sink(plugin, raw)
    except ConfigError as error:
        problems += error.problems
    else:
        problems += plugin.check(config)
        problems += _beyond_options(plugin, config)
    problems += _converter_problems(raw)
    return Checked(plugin.name, plugin_type, problems, _secret_keys(options, raw))


def _check_direct(raw: Mapping[str, str]) -> Checked:
    problems: list[Problem] = []
    secrets: list[str] = []
    for prefix in ("source.", "sink."):
        own = {key.removeprefix(prefix): value for key, value in raw.items() if key.startswith(prefix)}
        try:
            options = find(own.get("connector.class", "")).options
        except ConfigError:
            continue  # parse_direct below says so
        secrets += [prefix + key for key in _secret_keys(options, own)]
    try:
        config, source_config, sink_config = parse_direct(raw)
    except ConfigError as error:
        problems += error.problems
    else:
        source, sink = find(config["source.connector.class"]), find(config["sink.connector.class"])
        problems += [replace(found, key=f"source.{found.key}") for found in source.check(source_config)]
        problems += [replace(found, key=f"sink.{found.key}") for found in sink.check(sink_config)]
        if not isinstance(sink, RecordSink):
            fix = "Use a sink that runs natively, such as file_lines."
            problems.append(Problem("sink.connector.class", sink.name, "writes with Spark, which a direct task has not", fix))
        problems += _no_transforms(config)
    return Checked(DIRECT, PluginType.DIRECT, problems, secrets)


def _beyond_options(plugin: Source | Sink, config: Config) -> Iterable[Problem]:
    yield from _no_transforms(config)
    if isinstance(plugin, Sink) and config["engine"] not in engines_of(plugin):
        fix = f"Use engine={engines_of(plugin)[0]}, or another sink, such as file_lines for files."
        yield Problem("engine", config["engine"], f"is not an engine that {plugin.name} runs on", fix)


def _no_transforms(config: Config) -> Iterable[Problem]:
    if config["transforms"]:
        yield Problem("transforms", ",".join(config["transforms"]), "transforms come with a later version", "Remove it.")


def _converter_problems(raw: Mapping[str, str]) -> Iterable[Problem]:
    for key in ("key.converter", "value.converter"):
        if key not in raw:
            continue
        own = {name.removeprefix(f"{key}."): value for name, value in raw.items() if name.startswith(f"{key}.")}
        try:
            parse(converter_class(raw[key]).options, own)
        except ConfigError as error:
            for problem in error.problems:
                yield replace(problem, key=f"{key}.{problem.key}" if problem.key else key)


def _secret_keys(options: Iterable[Option], raw: Mapping[str, str]) -> list[str]:
    return [key for option in options if option.secret for key in (option.key, *option.aliases) if key in raw]
