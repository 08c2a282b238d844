"""What is asked of plugins before there are tasks: what there is, whether a configuration is right, how its work is split.

Each answer comes from a process that was made for it: whatever the plugin's code does there ends with that process.
"""

import traceback
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rocketconnect_sdk.claim_check import options as claim_check
from rocketconnect_sdk.configuration import runtime_options
from rocketconnect_sdk.configuration.connector_options import (
    Checked,
    check_connector,
    direct_options,
    parse_direct,
    parse_sink,
    parse_source,
    sink_options,
    source_options,
)
from rocketconnect_sdk.configuration.runtime_options import CLASS, SOURCE_CLASS
from rocketconnect_sdk.errors import ConfigError, ConnectorError, PermanentError, Problem, SystemAway
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.plugins.loader import PluginInfo, PluginType
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Plan, Source
from rocketconnect_sdk.transforms import chain
from rocketconnect_sdk.wording.counts import counted
from services.executor.contract import answers
from services.executor.contract.questions import CheckConnector, GivenPosition
from services.executor.host.jobs.newest import with_topics
from services.executor.host.jobs.notes import notes
from services.executor.host.jobs.sources.converting import unwritten
from services.executor.host.jobs.sources.preflight import of_topic
from services.executor.host.jobs.sources.reading_on import reading_on
from services.executor.runtime.positions.maps import position_of
from services.executor.secrets.resolving import hide, hide_problem, resolve, resolve_known, unread

TASKS = "tasks"
"""The key under which every task is told how many there are."""


def check(order: CheckConnector) -> answers.Checked:
    """Everything that is wrong with a configuration, also with what is in its topics, and what becomes of what was read.

    A plugin that fails while it checks is a problem, too.
    """
    config, endpoints = order.config, order.endpoints
    try:
        found = check_connector(config, resolve_known)
        wrong = {problem.key for problem in found.problems}
        secrets = unread({key: value for key, value in config.items() if key not in wrong})
        told_of_topic = of_topic(config, [*found.problems, *secrets], endpoints, order.name, order.neighbours)
        problems = [*with_topics(config, found.problems, endpoints), *told_of_topic, *secrets]
        problems += [*unwritten(config, problems), *reading_on(order, problems)]
    except Exception as error:
        traceback.print_exc()
        found = Checked("", None, (), ())
        reason = hide(f"the check of the plugin itself failed: {type(error).__name__}: {error}")
        fix = "This is a defect of the plugin; the executor's log has the traceback."
        problems = [Problem(CLASS.key, config.get(CLASS.key, ""), reason, fix)]
    told = [hide_problem(problem) for problem in problems]
    expected = [f"{problem.key}: {problem.reason}. {problem.fix}" for problem in told if problem.is_note]
    wrong_now = [problem for problem in told if not problem.is_warning]
    return answers.Checked(
        plugin=found.plugin,
        direction=found.type.value if found.type else "",
        problems=wrong_now,
        secret_keys=list(found.secret_keys),
        targets=None if found.targets is None else [(target.key, hide(target.name)) for target in found.targets],
        warnings=[problem for problem in told if problem.is_warning and not problem.is_note],
        notes=expected if wrong_now else [*expected, *notes(config)],
        origins=None if found.origins is None else list(map(_hidden, found.origins)),
        is_shared=found.is_shared,
    )


def _hidden(origin: Origin) -> Origin:
    return replace(
        origin, place=hide(origin.place), name=hide(origin.name), without=[*map(hide, origin.without)], into=hide(origin.into)
    )


def plan(config: Mapping[str, str], positions: Mapping[str, GivenPosition]) -> answers.Planned | answers.PlanFailed:
    """Split the work of a connector, or say why that is not possible now (or, permanent, with this configuration)."""
    try:
        made, max_tasks = _plan(config, positions)
    except (ConfigError, PermanentError) as error:
        return answers.PlanFailed(hide(str(error)), permanent=True)
    except ConnectorError as error:
        return answers.PlanFailed(hide(str(error)), permanent=False, away=isinstance(error, SystemAway))
    except Exception:
        return answers.PlanFailed(hide(f"a defect of the plugin: {traceback.format_exc()}"), permanent=False)
    if not 1 <= len(made.tasks) <= max_tasks:
        flaw = f"a defect of the plugin: it planned {counted(made.tasks, 'task')} where 1 to {max_tasks} are allowed"
        return answers.PlanFailed(flaw, permanent=True)
    tasks = [{**task, TASKS: str(len(made.tasks))} for task in made.tasks]
    return answers.Planned(tasks, made.replan_after)


def find_plugins() -> answers.PluginsFound:
    """All plugins that can be loaded, and those that can't."""
    broken = [f"{where}: {why}" for where, why in loader.catalogue().broken.items()]
    return answers.PluginsFound([described(info, _all_options(info)) for info in loader.plugins()], broken)


def described(info: PluginInfo, options: Iterable[Option]) -> answers.Plugin:
    """What is told of a plugin, with these of its options."""
    groups = _groups(info)
    return answers.Plugin(
        name=info.name,
        aliases=list(info.aliases),
        type=info.type.value,
        package=info.package.name,
        version=info.package.version,
        summary=info.summary,
        documentation=info.documentation,
        options=[_option(option, groups.get(option.key, "common")) for option in options],
        guarantee=info.guarantee,
        engines=list(info.engines),
        signals=[
            answers.PluginSignal(signal.name, signal.doc, [_option(argument) for argument in signal.arguments])
            for signal in info.signals
        ],
        needs=info.needs,
    )


def _groups(info: PluginInfo) -> dict[str, str]:
    """By key whose its options are, as connector/v1 Option says it; those that are not here are common."""
    if info.type is PluginType.DIRECT:
        # It has none beside these.
        return dict.fromkeys((option.key for option in direct_options()), "")
    runtime = {
        PluginType.SOURCE: ("source", (*runtime_options.SOURCE, *claim_check.source_options())),
        PluginType.SINK: ("sink", (*runtime_options.SINK, *claim_check.sink_options())),
    }
    group, options = runtime.get(info.type, ("", ()))
    others = dict.fromkeys((option.key for option in options), group)
    others |= dict.fromkeys((option.key for option in runtime_options.CONVERTERS), "converters")
    return others | dict.fromkeys((option.key for option in info.options), "")


def _plan(config: Mapping[str, str], positions: Mapping[str, GivenPosition]) -> tuple[Plan, int]:
    name = config.get(CLASS.key, "")
    if name == loader.DIRECT:
        own, source_config, _ = parse_direct(config)
        source = loader.find(own[SOURCE_CLASS.key])
        if not isinstance(source, Source):
            raise ConfigError([Problem(SOURCE_CLASS.key, source.name, "is no source", "Name a source.")])
        known = _known(positions, direct=True)
        return source.plan(resolve(source_config), own["max.tasks"], known), own["max.tasks"]
    plugin = loader.find(name)
    if isinstance(plugin, Source):
        parsed = parse_source(plugin, config)
        return plugin.plan(resolve(parsed), parsed["max.tasks"], _known(positions, direct=False)), parsed["max.tasks"]
    parsed = parse_sink(plugin, config)
    return plugin.plan(resolve(parsed), parsed["max.tasks"]), parsed["max.tasks"]


def _known(positions: Mapping[str, GivenPosition], *, direct: bool) -> dict[str, Position]:
    """The positions that a source has, as it knows them."""
    return {
        partition: position_of(tuple(given.offset), given.resume, direct=direct)
        for partition, given in positions.items()
        if given.offset
    }


def _all_options(info: PluginInfo) -> tuple[Option, ...]:
    if info.type is PluginType.DIRECT:
        return direct_options()
    if info.type is PluginType.TRANSFORM:
        return (*info.options, *chain.STEP)
    if info.type is PluginType.PREDICATE:
        return (*info.options, *chain.PREDICATE)
    if info.type is PluginType.CONVERTER:
        return tuple(info.options)
    plugin = loader.find(info.name)
    return source_options(plugin) if isinstance(plugin, Source) else sink_options(plugin)


def _option(option: Option, group: str = "") -> answers.PluginOption:
    minimum, maximum = option.limits
    return answers.PluginOption(
        key=option.key,
        type=option.kind.value,
        default=option.default or "",
        required=option.required,
        secret=option.secret,
        doc=option.doc,
        choices=list(option.choices),
        aliases=list(option.aliases),
        minimum=minimum,
        maximum=maximum,
        group=group,
        example=option.example,
    )
