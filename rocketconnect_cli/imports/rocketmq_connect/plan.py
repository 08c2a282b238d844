"""What an import from RocketMQ Connect would do: its connectors against what is here. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from rocketconnect_cli.imports import plan as kafka
from rocketconnect_cli.imports.plan import Wish
from rocketconnect_cli.imports.rocketmq_connect.positions import Position, brought, instead
from rocketconnect_cli.imports.rocketmq_connect.stores import Stored
from rocketconnect_cli.imports.secrets import secret_name
from rocketconnect_cli.imports.translation import Translated
from rocketconnect_cli.imports.worker import There
from rocketconnect_cli.shown import wanted_state
from rocketconnect_sdk.configuration.option_texts import items
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.options import names_secret
from rocketconnect_sdk.translations import translated
from rocketconnect_sdk.wording.counts import counted

_SHOWN = 5
_GROUP, _TOPICS = "task.group.id", ("topics", "connect.topicnames")
_BEGINS = "consume.from.where"
_NEVER = {"mongodb_source": "snapshot.mode"}
"""Sources that copy what there is before they go on from a position, and the option that keeps them from it."""


class Step(kafka.Step):
    """What is done with one connector of RocketMQ Connect. See Step of the import from Kafka Connect."""

    is_paused: bool = False
    """It is paused there."""
    is_known: bool = False
    """An executor has its plugin."""

    def lines(self) -> list[str]:
        """As people read it. No value of a secret is in it."""
        what = "is here already, as it would be made" if self.exists else f"becomes {self.made.config[CLASS.key]}"
        lines = [f"{'=' if self.exists else '+'} {self.name}: {self.there.class_name} {what}"]
        lines += [f"    {change}" for change in self.made.changes]
        lines += [f"    {key} goes into the keystore" for key in sorted(self.made.secret_keys)]
        if self.is_there:
            lines.append("    has positions here, and keeps them")
        elif self.positions:
            lines.append(f"    gets {counted(self.positions, 'position')}:")
            lines += [f"        {each['partition']} at {each.get('resume') or each['offset']}" for each in self.positions[:_SHOWN]]
            lines += [f"        and {len(self.positions) - _SHOWN} more"] * (len(self.positions) > _SHOWN)
        return [*lines, *(f"    {note}" for note in self.notes)]


def plan(
    theirs: Sequence[Stored],
    wish: Wish,
    plugins: Sequence[Mapping[str, Any]],
    ours: Mapping[str, Mapping[str, Any]],
    positions: Mapping[str, Sequence[Mapping[str, Any]]],
) -> tuple[list[Step], list[dict[str, str]]]:
    """The steps, and everything that forbids them; those of sinks have no positions yet.

    Args:
        theirs: All connectors of the worker.
        wish: What the user says.
        plugins: What executors offer.
        ours: The connectors that are here, by name.
        positions: Of those that have the name of one of `theirs`, by that.
    """
    wanted, problems = kafka.chosen({each.name: each for each in theirs}, wish)
    steps = [_step(each, wish, plugins) for each in wanted]
    for step in steps:
        if step.name in ours:
            meet(step, ours[step.name], positions.get(step.name, ()))
    return steps, [*problems, *(problem for step in steps for problem in step.problems)]


def group_of(step: Step) -> tuple[str, list[str]]:
    """The consumer group that a sink had there, and its topics."""
    config = step.made.config
    topics = next((config[key] for key in _TOPICS if config.get(key)), "")
    return config.get(_GROUP) or f"connect-{step.name}", list(items(topics))


def bring_group(step: Step, positions: Sequence[Position]) -> None:
    """What the consumer group of a sink has read becomes its positions."""
    step.positions += positions
    if not positions:
        step.notes.append(f"the group {group_of(step)[0]} has read nothing there: it begins as a new one")


def say_where_a_sink_begins(step: Step) -> None:
    """Its place is with the brokers, and nobody has asked them."""
    where = "last" if step.made.config.get(_BEGINS) == "CONSUME_FROM_LAST_OFFSET" else "first"
    step.notes.append(
        f"begins at the {where} message of its topics: where it is, brokers know by the group {group_of(step)[0]}, "
        "which --namesrv HOST:PORT asks them for"
    )


def meet(step: Step, ours: Mapping[str, Any], positions: Sequence[Mapping[str, Any]]) -> None:
    """One of this name is here: made by the same import, which then goes on, or in its way."""
    fix = "Delete it here, or import the others by their names."
    there, config = dict(ours["config"]), step.made.config
    if there != config:
        changed = sorted(key for key in {*there, *config} if there.get(key) != config.get(key))
        reason = f"is here already, with another configuration ({', '.join(changed[:_SHOWN])})"
        step.problems.append({"key": step.name, "reason": reason, "fix": fix})
        return
    step.exists = True
    step.is_there = any(not each["partition"].startswith("~") for each in positions)
    if step.positions and not step.is_there and wanted_state(dict(ours)) != "STOPPED":
        reason = f"is here already, {wanted_state(dict(ours))}, without the positions"
        step.problems.append({"key": step.name, "reason": reason, "fix": f"Stop it: rocketconnect connector stop {step.name}"})


def _step(stored: Stored, wish: Wish, plugins: Sequence[Mapping[str, Any]]) -> Step:
    # What has no counterpart can be given otherwise, or left out, only under its name there.
    given = {key: text for key, text in wish.given.items() if key in stored.config}
    found = translated({key: text for key, text in {**stored.config, **given}.items() if text is not None})
    config = dict(found.config)
    name = next((stored.config[key] for key in (CLASS.key, "connector-class") if stored.config.get(key)), "")
    plugin = next((each for each in plugins if config.get(CLASS.key) in (each["name"], *each.get("aliases", ()))), None)
    for key, text in wish.given.items():
        if text is None:
            config.pop(key, None)
        elif key not in given:
            config[key] = text
    made = Translated(config, changes=[f"{problem.key} {problem.reason}" for problem in found.warnings])
    is_sink = "SINK" in str(plugin.get("type", "")) if plugin else config.get(CLASS.key, "").endswith("_sink")
    there = There(stored.name, "sink" if is_sink else "source", stored.config, "STOPPED", name, "", None)
    step = Step(there, made, problems=[_of(stored.name, each.key, each.reason, each.fix) for each in found.problems])
    step.is_paused, step.is_known = stored.is_paused, plugin is not None
    if stored.is_paused:
        step.notes.append("is paused there, and stays STOPPED here")
    if plugin is None and not found.problems:
        reason = f"no executor has a plugin for {name or 'a connector without a class'}"
        step.problems.append(_of(stored.name, CLASS.key, reason, "rocketconnect plugins lists those there are."))
    if not is_sink and wish.positions:
        _bring_places(step, stored, str(plugin["name"]) if plugin else "", wish.given)
    options = {key: each for each in (plugin or {}).get("options", ()) for key in (each["key"], *each.get("aliases", ()))}
    _move_secrets(made, stored.name, options)
    return step


def _bring_places(step: Step, stored: Stored, plugin: str, given: Mapping[str, str | None]) -> None:
    """What the source has read there is not read again, by positions or by options, but for those that the user gives."""
    config, changes = step.made.config, step.made.changes
    if not stored.places:
        step.notes.append("has no position there: it begins as a new one")
        return
    options = instead(plugin, config, stored.places)
    if set(options) & set(given):
        step.notes.append(f"begins as you say: {', '.join(sorted(set(options) & set(given)))}")
        return
    if options:
        config.update(options)
        changes += [f"{key}={text}: what is before was read there" for key, text in options.items()]
        return
    step.positions, reasons = brought(plugin, config, stored.places)
    step.notes += reasons
    if step.positions and (key := _NEVER.get(plugin, "")) and key not in given:
        config[key] = "never"
        changes.append(f"{key}=never: what there is was copied there")


def _move_secrets(made: Translated, name: str, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Those of the plugin, and of what it does not know, such as converters, what is called like one."""
    for key, text in sorted(made.config.items()):
        is_secret = options[key].get("secret") if key in options else names_secret(key)
        if text and "${" not in text and is_secret:
            secret = secret_name(name, key, made.secrets)
            made.secrets[secret] = text
            made.secret_keys.add(key)
            made.config[key] = f"${{keystore:{secret}}}"


def _of(name: str, key: str, reason: str, fix: str) -> dict[str, str]:
    return {"key": f"{name}: {key}" if key else name, "reason": reason, "fix": fix}
