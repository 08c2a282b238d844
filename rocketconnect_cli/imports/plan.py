"""What an import from Kafka Connect would do: connectors there against what is here. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from rocketconnect_cli.imports.coordinates import how_to_install
from rocketconnect_cli.imports.secrets import names_in
from rocketconnect_cli.imports.translation import Translated, translated
from rocketconnect_cli.imports.worker import OFFSETS_SINCE, There
from rocketconnect_cli.shown import wanted_state
from rocketconnect_sdk.plugins.kafka_names import BROUGHT, OFFSET, needs_kafka, partition_name
from rocketconnect_sdk.wording.counts import counted

T = TypeVar("T")
_ANOTHER_NAME = "Import it alone, with a name of your own (rocketconnect secret set NAME): --set {key}='${{keystore:NAME}}'"
_STILL = ("STOPPED", "PAUSED")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user says.

    Attributes:
        names: Only these connectors; empty: all.
        given: What every configuration has otherwise; None leaves the key out.
        positions: Bring positions.
        worker: The configuration of the worker, as far as it is known.
    """

    names: Sequence[str] = ()
    given: Mapping[str, str | None] = field(default_factory=dict)
    positions: bool = True
    worker: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Step:
    """What is done with one connector.

    Attributes:
        there: As Kafka Connect has it.
        made: The configuration here.
        positions: What its positions here will be, in the form of `positions:alter`.
        notes: What else is to be known.
        problems: What forbids it.
        exists: It was made here before, by an import that was cut short or is repeated.
        is_there: Whether its positions are here already.
        goes_on: It has run here since: it is left alone.
    """

    there: There
    made: Translated
    positions: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    exists: bool = False
    is_there: bool = False
    goes_on: bool = False

    @property
    def name(self) -> str:
        """Of the connector."""
        return self.there.name

    def lines(self) -> list[str]:
        """As people read it. No value of a secret is in it."""
        what = "is here already, as it would be made" if self.exists else "becomes a connector of the same class"
        lines = [f"{'=' if self.exists else '+'} {self.name}: {self.there.type} {self.there.class_name}, {what}"]
        lines += [f"    {change}" for change in self.made.changes]
        lines += [f"    {key} goes into the keystore" for key in sorted(self.made.secret_keys)]
        if self.goes_on:
            return [*lines, "    has gone on here since: it is left alone"]
        if self.positions:
            state = "has" if self.is_there else "gets"
            lines.append(f"    {state} {counted(self.positions, 'position')}:")
            lines += [f"        {each['partition']} at {_offset_of(each)}" for each in self.positions[:_SHOWN]]
            lines += [f"        and {len(self.positions) - _SHOWN} more"] * (len(self.positions) > _SHOWN)
        return [*lines, *(f"    {note}" for note in self.notes)]

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "name": self.name,
            "type": self.there.type,
            "config": self.made.config,
            "secrets": sorted(self.made.secrets),
            "positions": self.positions,
            "changes": self.made.changes,
            "notes": self.notes,
            "exists": self.exists,
            "goesOn": self.goes_on,
        }


def plan(
    theirs: Sequence[There],
    wish: Wish,
    url: str,
    version: str,
    plugins: Sequence[Mapping[str, Any]],
    ours: Mapping[str, Mapping[str, Any]],
    positions: Mapping[str, Sequence[Mapping[str, Any]]],
) -> tuple[list[Step], list[dict[str, str]]]:
    """The steps, and everything that forbids them.

    Args:
        theirs: All connectors of the worker.
        wish: What the user says.
        url: Of the worker.
        version: Of the worker.
        plugins: What executors offer.
        ours: The connectors that are here, by name.
        positions: Theirs, by the name of the connector, of those that have the name of one of `theirs`.
    """
    wanted, problems = chosen({each.name: each for each in theirs}, wish)
    steps = [_step(each, wish, url, version, plugins) for each in wanted]
    for step in steps:
        if step.name in ours:
            _meet(step, ours[step.name], positions.get(step.name, ()))
    return steps, [*problems, *(problem for step in steps for problem in step.problems)]


def chosen(theirs: Mapping[str, T], wish: Wish) -> tuple[list[T], list[dict[str, str]]]:
    """The connectors of a worker that are wanted, and what is wrong with the names that none of them has.

    Args:
        theirs: All of the worker, by name.
        wish: What the user says.
    """
    names = list(dict.fromkeys(wish.names))
    shown = ", ".join(sorted(theirs)) or "none"
    problems = [
        {"key": name, "reason": "is no connector of that worker", "fix": f"There are: {shown}."}
        for name in names
        if name not in theirs
    ]
    return [theirs[name] for name in names or theirs if name in theirs], problems


def clashes(steps: Sequence[Step], ours: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """What would overwrite the secret of another connector: of one that is here, or of one that is imported, too.

    Args:
        steps: Those that are made anew.
        ours: The connectors that are here, by name.
    """
    users = {name: connector for connector, each in ours.items() for name in names_in(each["config"])}
    problems = []
    for step in steps:
        for key in sorted(step.made.secret_keys):
            (name,) = names_in({key: step.made.config[key]})
            if (user := users.setdefault(name, step.name)) != step.name:
                reason = f"would be the secret {name}, which {user} has"
                problems.append({"key": f"{step.name}: {key}", "reason": reason, "fix": _ANOTHER_NAME.format(key=key)})
    return problems


def _step(there: There, wish: Wish, url: str, version: str, plugins: Sequence[Mapping[str, Any]]) -> Step:
    plugin = next((each for each in plugins if there.class_name in (each["name"], *each.get("aliases", ()))), None)
    options = plugin.get("options", ()) if plugin else ()
    passwords = {option["key"] for option in options if option.get("secret")}
    made = translated(there.name, there.type, there.class_name, there.config, wish.worker, wish.given, passwords)
    step = Step(there, made, problems=list(made.problems))
    if there.state not in _STILL:
        reason = f"is {there.state} in Kafka Connect: both would do its work, and its offsets move on"
        fix = f"Stop it: curl -X PUT {url}/connectors/{quote(there.name, safe='')}/stop"
        step.problems.append({"key": there.name, "reason": reason, "fix": fix})
    if needs_kafka(there.class_name):
        fix = "Leave it where it is: name those that are to be imported."
        step.problems.append(
            {"key": there.name, "reason": f"{there.class_name} speaks to Kafka itself, and there is none", "fix": fix}
        )
    elif plugin is None:
        reason = f"no executor has the plugin with {there.class_name}"
        step.problems.append({"key": there.name, "reason": reason, "fix": how_to_install(there.class_name, there.version)})
    if there.type == "sink":
        _say_where_a_sink_begins(step)
    elif not wish.positions:
        step.notes.append("begins as if it were new: no positions are brought (--no-positions)")
    else:
        _bring_positions(step, version)
    return step


def _bring_positions(step: Step, version: str) -> None:
    there = step.there
    if there.offsets is None:
        since = ".".join(map(str, OFFSETS_SINCE))
        fix = f"Upgrade the worker to Kafka {since} or newer, or give --no-positions: it then begins as if it were new."
        step.problems.append({"key": there.name, "reason": f"Kafka {version} does not tell where it is", "fix": fix})
        return
    if there.state == "PAUSED":
        step.notes.append(
            "is PAUSED there: what it sent in its last offset.flush.interval.ms may come again; stop it to avoid that"
        )
    for each in there.offsets:
        if each.get("offset") is not None:
            resume = json.dumps({OFFSET: each["offset"]}, sort_keys=True)
            step.positions.append({"partition": partition_name(each.get("partition")), "offset": BROUGHT, "resume": resume})
    if not step.positions:
        step.notes.append("has no offsets there: it begins as if it were new")


def _say_where_a_sink_begins(step: Step) -> None:
    count = len(step.there.offsets or ())
    if count:
        step.notes.append(f"its offsets ({counted(count, 'partition')}) count records of Kafka's topics, so they are not brought")
    begins = step.made.config.get("consume.from.where", "CONSUME_FROM_FIRST_OFFSET")
    where = "first message" if begins == "CONSUME_FROM_FIRST_OFFSET" else "end"
    step.notes.append(f"begins at the {where} of its topics in RocketMQ (consume.from.where={begins})")


def _meet(step: Step, ours: Mapping[str, Any], positions: Sequence[Mapping[str, Any]]) -> None:
    """One of this name is here: made by the same import, which then goes on, or in its way."""
    if dict(ours["config"]) != step.made.config:
        changed = sorted(
            key for key in {*ours["config"], *step.made.config} if ours["config"].get(key) != step.made.config.get(key)
        )
        reason = f"is here already, with another configuration ({', '.join(changed[:_SHOWN])})"
        fix = "Delete it here, or import the others by their names."
        step.problems.append({"key": step.name, "reason": reason, "fix": fix})
        return
    step.exists = True
    wanted = {each["partition"]: _offset_of(each) for each in step.positions}
    there = {each["partition"]: each for each in positions if not each["partition"].startswith("~")}
    if {name: _offset_of(each) for name, each in there.items() if each["offset"] == BROUGHT} == wanted and len(there) == len(
        wanted
    ):
        step.is_there = True
    elif there:
        step.goes_on = True
    elif step.positions and wanted_state(dict(ours)) != "STOPPED":
        reason = f"is here already, {wanted_state(dict(ours))}, without the positions"
        step.problems.append({"key": step.name, "reason": reason, "fix": f"Stop it: rocketconnect connector stop {step.name}"})


def _offset_of(position: Mapping[str, Any]) -> str:
    try:
        return json.dumps(json.loads(position.get("resume") or "{}").get(OFFSET), sort_keys=True)
    except ValueError:
        return ""
