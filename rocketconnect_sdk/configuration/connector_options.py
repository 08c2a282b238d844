"""All options of a connector, and the check of a whole configuration."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from rocketconnect_sdk.claim_check import options as claim_check
from rocketconnect_sdk.columns.sinks import ArrowSink
from rocketconnect_sdk.configuration import foreign, runtime_options
from rocketconnect_sdk.configuration.references import NO_PLACE, NO_PLACE_FIX, REFERENCE
from rocketconnect_sdk.converters import converter_class
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.filters.options import filter_problems
from rocketconnect_sdk.options import Config, Option, OptionWrong, expanded, parse, read, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.permissions import spark_profiles
from rocketconnect_sdk.plugins.loader import DIRECT, PluginType, catalogue, engines_of, find
from rocketconnect_sdk.queries.options import OPTIONS, QUERY, TABLES, query_problems
from rocketconnect_sdk.sink import BufferedSink, RecordSink, Sink
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.targets.owned import Target
from rocketconnect_sdk.transforms import chain

_SOURCE_PREFIXES = ("key.converter.", "value.converter.", "transforms.", "predicates.")
_USER = ("rocketmq.access.key", "rocketmq.secret.key")
_TOLERANCE, _KEPT_IN = "errors.tolerance", "errors.deadletterqueue.topic.name"
_SINK_PREFIXES = (*_SOURCE_PREFIXES, "spark.", TABLES)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    Attributes:
        plugin: The plugin's own name; empty when there is no such plugin.
        type: The direction; None when there is no such plugin.
        problems: Everything that is wrong.
        secret_keys: The keys in the configuration whose values are secrets.
        targets: What the connector writes and no other one may; None: that can't be known of this configuration.
        origins: What the connector reads, and where it goes; None: that can't be known of it, or it is no source.
        is_shared: Another source may read the same into the same topic.
    """

    plugin: str
    type: PluginType | None
    problems: Sequence[Problem]
    secret_keys: Sequence[str]
    targets: Sequence[Target] | None = None
    origins: Sequence[Origin] | None = None
    is_shared: bool = False


def source_options(source: Source) -> tuple[Option, ...]:
    """All options of a source connector: its own first."""
    every = (*runtime_options.COMMON, *runtime_options.SOURCE, *claim_check.source_options(), *runtime_options.CONVERTERS)
    return (*source.options, *_with_defaults(every, source.defaults))


def sink_options(sink: Sink) -> tuple[Option, ...]:
    """All options of a sink connector: its own first. The default engine is the first that the sink can run on."""
    defaults = {"engine": engines[0], **sink.defaults} if (engines := engines_of(sink)) else sink.defaults
    every = (*runtime_options.COMMON, *runtime_options.SINK, *claim_check.sink_options(), *OPTIONS, *runtime_options.CONVERTERS)
    return (*sink.options, *_with_defaults(every, defaults))


def _with_defaults(options: Sequence[Option], defaults: Mapping[str, str]) -> Iterable[Option]:
    return (replace(each, default=defaults.get(each.key, each.default)) for each in options)


def direct_options() -> tuple[Option, ...]:
    """The options of a direct connector, without those of its source and sink."""
    return runtime_options.DIRECT


def parse_source(source: Source, raw: Mapping[str, str]) -> Config:
    """The configuration of a source connector. Raises ConfigError with all problems."""
    return _right(*_read_source(source, raw))


def parse_sink(sink: Sink, raw: Mapping[str, str]) -> Config:
    """The configuration of a sink connector. Raises ConfigError with all problems."""
    return _right(*_read_sink(sink, raw))


def parse_direct(raw: Mapping[str, str]) -> tuple[Config, Config, Config]:
    """The configurations of a direct connector: its own, its source's and its sink's. Raises ConfigError with all problems."""
    own, source, sink, problems = _read_direct(raw)
    if problems or source is None or sink is None:
        raise ConfigError(problems)
    return own, source.config, sink.config


def read_reader(raw: Mapping[str, str]) -> tuple[Config, list[Problem]]:
    """The configuration of somebody who only reads messages, as far as it can be read, and everything that is wrong with it.

    It holds converters with their options, and a user of RocketMQ. A converter that is not named leaves bytes as they are.
    """
    user = (option for option in runtime_options.COMMON if option.key in _USER)
    options = (*user, *(replace(option, default="bytes") for option in runtime_options.CONVERTERS))
    named = {**{option.key: "bytes" for option in runtime_options.CONVERTERS}, **raw}
    config, problems = _read(options, named, ("key.converter.", "value.converter."))
    return config, [*problems, *_converter_problems(named)]


def check_connector(raw: Mapping[str, str], resolve: Callable[[Config], Config] = lambda config: config) -> Checked:
    """Everything that is wrong with a configuration, as far as it can be known before it runs. Changes nothing.

    Args:
        raw: The configuration.
        resolve: Puts secrets in the place of their references, as far as they are known here, before the plugin's own check.

    Loads the plugin that it names and calls its check: run it where foreign code may run, with a time limit. What depends on an
    option that is itself wrong can't be known; everything else is told, also without a plugin.
    """
    name = raw.get(runtime_options.CLASS.key, "").strip()
    if name == DIRECT:
        return _check_direct(raw, resolve)
    try:
        plugin = find(name) if name else None
    except ConfigError as error:
        return Checked("", None, [*error.problems, *_without_plugin(raw)], ())
    if plugin is None:
        return Checked("", None, _without_plugin(raw), ())
    whole = raw
    raw, own = foreign.parted(plugin, whole)
    if isinstance(plugin, Source):
        plugin_type, options, (config, problems) = PluginType.SOURCE, source_options(plugin), _read_source(plugin, whole)
    else:
        plugin_type, options, (config, problems) = PluginType.SINK, sink_options(plugin), _read_sink(plugin, whole)
    problems += [*run_checks(resolve(config), plugin.check), *run_checks(config, partial(_engine_problems, plugin))]
    problems += run_checks(config, partial(claim_check.problems, plugin))
    problems += [*chain.problems(raw), *_whole_problems(plugin, raw), *_converter_problems(raw), *_dropping_problems(raw)]
    if isinstance(plugin, Sink) and not _may_be_rows(config):
        problems += run_checks(config, plugin.without_rows)
    if isinstance(plugin, Sink):
        problems += run_checks(config, partial(query_problems, plugin), filter_problems)
    unlisted = foreign.unlisted(options, raw) if foreign.passes(plugin) else {}
    secrets, targets = [*_all_secrets(options, raw), *foreign.secret_keys({**own, **unlisted})], _targets(plugin, config)
    return Checked(plugin.name, plugin_type, problems, secrets, targets, _origins(plugin, config), _is_shared(config))


def _right(config: Config, problems: Sequence[Problem]) -> Config:
    if problems:
        raise ConfigError(problems)
    return config


def _read_source(source: Source, raw: Mapping[str, str]) -> tuple[Config, list[Problem]]:
    given, own = foreign.parted(source, raw)
    config, problems = _read(source_options(source), given, _SOURCE_PREFIXES, open_ended=foreign.passes(source))
    return config.owning(own), [*problems, *foreign.problems(own)]


def _read_sink(sink: Sink, raw: Mapping[str, str]) -> tuple[Config, list[Problem]]:
    given, own = foreign.parted(sink, raw)
    config, problems = _read(sink_options(sink), given, _SINK_PREFIXES, open_ended=foreign.passes(sink))
    return config.owning(own), [*problems, *foreign.problems(own), *spark_profiles.problems(given)]


def _read(
    options: Sequence[Option], raw: Mapping[str, str], prefixes: Sequence[str], *, open_ended: bool = False
) -> tuple[Config, list[Problem]]:
    plugin = raw.get(runtime_options.CLASS.key, "").strip() or "NAME"
    passed = ("",) if open_ended else prefixes
    config, problems = read(options, raw, known_prefixes=passed, elsewhere=_converter_keys(raw), plugin=plugin)
    options = list(expanded(options, raw))
    if open_ended:
        unlisted = foreign.unlisted(options, raw)
        problems += foreign.problems(unlisted)
        options += [Option(key, "", references=True) for key in unlisted]
    return config, [
        *problems,
        *_user_problems(raw),
        *_reference_problems(raw, _all_secrets(options, raw), _taking_references(options)),
    ]


def _without_plugin(raw: Mapping[str, str]) -> list[Problem]:
    """What can be said when nobody knows the other options, nor which of them are secrets."""
    _, problems = read(
        (*runtime_options.COMMON, *runtime_options.CONVERTERS), raw, known_prefixes=("",), elsewhere=_converter_keys(raw)
    )
    problems += _reference_problems(raw, (), raw)
    return [*problems, *chain.problems(raw), *_converter_problems(raw)]


@dataclass(frozen=True, slots=True)
class _Half:
    """The source or the sink of a direct connector, with its configuration as far as it could be read."""

    plugin: Source | Sink
    prefix: str
    config: Config

    def check(self, resolve: Callable[[Config], Config]) -> Iterator[Problem]:
        """What the plugin finds."""
        for problem in run_checks(resolve(self.config), self.plugin.check):
            yield replace(problem, key=self.prefix + problem.key)


def _read_direct(raw: Mapping[str, str]) -> tuple[Config, _Half | None, _Half | None, list[Problem]]:
    config, problems = read(
        runtime_options.DIRECT, raw, known_prefixes=("source.", "sink.", "transforms.", "predicates."), plugin=DIRECT
    )
    source, source_problems = _read_half(raw, "source.", Source)
    sink, sink_problems = _read_half(raw, "sink.", RecordSink)
    halves = [half for half in (source, sink) if half]
    secrets = _direct_secrets(halves, raw)
    taking = _taking_references(runtime_options.DIRECT)
    taking |= {half.prefix + key for half in halves for key in _taking_references(expanded(half.plugin.options, half.config.raw))}
    problems += [*source_problems, *sink_problems, *_user_problems(raw), *_reference_problems(raw, secrets, taking)]
    return config, source, sink, problems


def _read_half(raw: Mapping[str, str], prefix: str, kind: "type[Source | RecordSink]") -> tuple[_Half | None, list[Problem]]:
    own = {key.removeprefix(prefix): value for key, value in raw.items() if key.startswith(prefix)}
    name = own.pop(runtime_options.CLASS.key, "").strip()
    if not name:
        return None, []  # it is required, and told as that
    fitting = [other for other, plugin in catalogue().connectors.items() if isinstance(plugin, kind) and not foreign.passes(plugin)]
    fix = f"Use one of {', '.join(fitting)}."
    try:
        plugin = find(name)
    except ConfigError as error:
        wrong = error.problems[0] if name in catalogue().broken else replace(error.problems[0], fix=fix)
    else:
        if isinstance(plugin, kind) and not foreign.passes(plugin):
            config, problems = read(plugin.options, own, plugin=plugin.name)
            return _Half(plugin, prefix, config), [replace(problem, key=prefix + problem.key) for problem in problems]
        is_sink = isinstance(plugin, Sink) and kind is Source
        wrong = Problem(runtime_options.CLASS.key, name, "is no source" if is_sink else _not_direct(plugin), fix)
    return None, [replace(wrong, key=prefix + wrong.key)]


def _not_direct(plugin: Source | Sink) -> str:
    if foreign.passes(plugin):
        return "is of another system, whose connectors a direct task does not run"
    if isinstance(plugin, BufferedSink):
        return "makes records durable later than it takes them, which a direct task does not wait for"
    return "writes with Spark, which a direct task has not" if isinstance(plugin, Sink) else "is no sink"


def _check_direct(raw: Mapping[str, str], resolve: Callable[[Config], Config]) -> Checked:
    _, source, sink, problems = _read_direct(raw)
    halves = [half for half in (source, sink) if half]
    problems += [problem for half in halves for problem in half.check(resolve)]
    problems += [
        *chain.problems(raw),
        *_dropping_problems(raw),
        *(problem for half in halves for problem in _whole_problems(half.plugin, raw)),
    ]
    targets = _targets(sink.plugin, sink.config) if sink else None
    mine = None if sink is None or targets is None else [replace(target, key=sink.prefix + target.key) for target in targets]
    return Checked(DIRECT, PluginType.DIRECT, problems, _direct_secrets(halves, raw), mine)


def _targets(plugin: Source | Sink, config: Config) -> Sequence[Target] | None:
    """What a connector of the plugin has for itself; None: the option that says it is wrong."""
    if isinstance(plugin, Source):
        return ()
    with suppress(OptionWrong):
        return tuple(plugin.targets(config))
    return None


def _origins(plugin: Source | Sink, config: Config) -> Sequence[Origin] | None:
    """What a source reads, with where it goes: what is read on other machines, as labels say it, is something else."""
    if not isinstance(plugin, Source):
        return None
    with suppress(OptionWrong):
        found, topic, labels = plugin.origins(config), config["topic"], sorted(config["worker.labels"])
        if found is not None:
            return [replace(each, into=" ".join([each.into or topic, *labels])) for each in found]
    return None


def _is_shared(config: Config) -> bool:
    with suppress(OptionWrong):
        return bool(config.get(runtime_options.ORIGIN_SHARED.key))
    return False


def _engine_problems(plugin: Source | Sink, config: Config) -> Iterable[Problem]:
    if isinstance(plugin, Sink) and not isinstance(plugin, ArrowSink) and config["engine"] not in engines_of(plugin):
        fix = f"Use engine={engines_of(plugin)[0]}, or another sink, such as file_lines for files."
        yield Problem("engine", config["engine"], f"is not an engine that {plugin.name} runs on", fix)


def _whole_problems(plugin: Source | Sink, raw: Mapping[str, str]) -> Iterable[Problem]:
    """What would change messages that go on as they are: what it makes of keys, times and headers would be lost."""
    if not isinstance(plugin, Source | RecordSink) or not plugin.whole_messages:
        return
    whole = f"what {plugin.name} sends: whole messages, with the keys, times and headers that they have"
    if given := raw.get("transforms", "").strip():
        fix = "Leave it out; transforms of a sink can change what it reads of the topic."
        yield Problem("transforms", given, f"cannot change {whole}", fix if isinstance(plugin, Source) else "Leave it out.")
    if isinstance(plugin, Source):
        return
    if given := raw.get(QUERY.key, "").strip():
        yield Problem(QUERY.key, given[:200], f"cannot change {whole}", "Leave it out.")
    if (given := raw.get("engine", "").strip()) == "spark":
        yield Problem("engine", given, f"does not give {whole}", "Leave it out, or set engine=native.")


def _dropping_problems(raw: Mapping[str, str]) -> Iterable[Problem]:
    """Bad records that nobody will see again."""
    if raw.get(_TOLERANCE, "").strip() == "all" and not raw.get(_KEPT_IN, "").strip():
        reason = (
            "drops every record that cannot be read, changed, converted or written, those that other warnings here tell of too, "
            "and keeps none of them: `connector status` tells how many, and the last one alone"
        )
        fix = f"Set {_KEPT_IN} to keep them, such as orders-dlq: `rocketconnect dlq` shows, mends and sends again what is there."
        yield Problem(_TOLERANCE, "all", reason, fix, is_warning=True)


def _converter_keys(raw: Mapping[str, str]) -> list[str]:
    """The keys of the options of the converters that are configured, the value's first."""
    keys: list[str] = []
    for option in reversed(runtime_options.CONVERTERS):
        with suppress(ConfigError):  # told by _converter_problems
            keys += [f"{option.key}.{own.key}" for own in converter_class(raw.get(option.key, option.default or "")).options]
    return keys


def _converter_secrets(raw: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for option in runtime_options.CONVERTERS:
        with suppress(ConfigError):  # told by _converter_problems
            found += _secret_keys(converter_class(raw.get(option.key, option.default or "")).options, raw, f"{option.key}.")
    return found


def _converter_problems(raw: Mapping[str, str]) -> Iterable[Problem]:
    for option in runtime_options.CONVERTERS:
        own = {name.removeprefix(f"{option.key}."): value for name, value in raw.items() if name.startswith(f"{option.key}.")}
        name = raw.get(option.key, option.default or "")
        try:
            kind = converter_class(name)
            if option.key == runtime_options.KEY_CONVERTER.key and not kind.for_keys:
                yield Problem(option.key, name, "is for values alone", "Use string, json or another one.")
            problems = list(kind.check(parse(kind.options, own)))
        except ConfigError as error:
            problems = list(error.problems)
        for problem in problems:
            yield replace(problem, key=f"{option.key}.{problem.key}" if problem.key else option.key)


def _may_be_rows(config: Config) -> bool:
    """Whether a sink may get rows: the converter of values reads some, or transforms may make them of what it reads."""
    key = runtime_options.VALUE_CONVERTER.key
    try:
        kind = converter_class(config[key])
        prefix = f"{key}."
        own = {name.removeprefix(prefix): value for name, value in config.raw.items() if name.startswith(prefix)}
        return bool(config["transforms"] or config[QUERY.key]) or kind.reads_rows(parse(kind.options, own))
    except (ConfigError, OptionWrong):
        return True  # told by _converter_problems


def _reference_problems(raw: Mapping[str, str], secrets: Collection[str], taking: Collection[str]) -> Iterable[Problem]:
    """References that a worker could not resolve, or must not. Those in place of a secret are told with the secret."""
    for key, value in raw.items():
        if key in secrets:
            continue
        if key not in taking and (reference := REFERENCE.search(value)):
            yield Problem(key, reference[0][:200], NO_PLACE, NO_PLACE_FIX)


def _user_problems(raw: Mapping[str, str]) -> Iterable[Problem]:
    given = {key: bool(raw.get(key, "").strip()) for key in _USER}
    if any(given.values()) and not all(given.values()):
        missing = next(key for key, there in given.items() if not there)
        yield Problem(
            missing, "", "is missing: a user of RocketMQ has a name and a secret", "Give both, or none for the executor's."
        )


def _taking_references(options: Iterable[Option]) -> set[str]:
    return {key for option in options if option.references for key in (option.key, *option.aliases)}


def _direct_secrets(halves: Iterable[_Half], raw: Mapping[str, str]) -> list[str]:
    own = _secret_keys(runtime_options.DIRECT, raw)
    return [*own, *(key for half in halves for key in _secrets_of(half, raw)), *chain.secret_keys(raw)]


def _secrets_of(half: _Half, raw: Mapping[str, str]) -> list[str]:
    own = {key.removeprefix(half.prefix): value for key, value in raw.items() if key.startswith(half.prefix)}
    return [half.prefix + key for key in _secret_keys(half.plugin.options, own)]


def _all_secrets(options: Iterable[Option], raw: Mapping[str, str]) -> list[str]:
    return [*_secret_keys(options, raw), *_converter_secrets(raw), *chain.secret_keys(raw)]


def _secret_keys(options: Iterable[Option], raw: Mapping[str, str], prefix: str = "") -> list[str]:
    own = {key.removeprefix(prefix): text for key, text in raw.items()}
    keys = [prefix + key for option in expanded(options, own) if option.secret for key in (option.key, *option.aliases)]
    return [key for key in keys if key in raw] + [key for key in raw if not prefix and spark_profiles.is_secret(key)]
