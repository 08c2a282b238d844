"""Rules and targets out of a configuration, and everything that is wrong with them. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from connectors.eventbridge.inputs import PREDEFINED, Constant, Filled, Input, Part, Whole
from connectors.eventbridge.options import RULES, TARGETS, variables_of
from connectors.eventbridge.paths import Path
from connectors.eventbridge.patterns import read_pattern
from connectors.eventbridge.rules import Destination, Rule, Rules
from connectors.http.sink import header_problems
from connectors.http.texts import headers_of, is_json, origin_and_path, url_part
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http import login_problems
from rocketconnect_sdk.http.oauth import oauth_problems
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.writes import Template

_SHOWN = 200
_INPUTS = ("input", "input.path", "input.template")
_JSON_FIX = 'Write JSON, with variables outside of quotes for values: {"id": <id>}, or set another content.type for the target.'


def part_of(config: Config, kind: str, name: str) -> Config:
    """The options of one target, or of one rule."""
    return config.within(f"{kind}.{name}.")


def rules_of(config: Config) -> Rules:
    """The rules of a configuration that is right."""
    destinations = {name: _destination(name, part_of(config, TARGETS, name)) for name in config[TARGETS]}
    return Rules(tuple(_rule(name, part_of(config, RULES, name), destinations) for name in config[RULES]))


def is_made(template: Template) -> bool:
    """Whether a text is made of records."""
    return any(not isinstance(part, str) for part in template.parts)


def _destination(name: str, target: Config) -> Destination:
    _, path = origin_and_path(target["url"])
    headers = {header: each for header, each in headers_of(target["headers"]).items() if is_made(each)}
    return Destination(name, Template.of(path, url_part), headers, bool(target["idempotency.header"]))


def _rule(name: str, rule: Config, destinations: Mapping[str, Destination]) -> Rule:
    pattern, _ = read_pattern(rule["pattern"])
    return Rule(name, pattern, _input(name, rule), tuple(destinations[each] for each in rule["targets"]))


def _input(name: str, rule: Config) -> Input:
    """What a rule sends. Raises ValueError: what is wrong with its template."""
    if rule["input"]:
        return Constant(rule["input"])
    if rule["input.path"]:
        return Part(Path.read(rule["input.path"]), rule["input.path"])
    if rule["input.template"]:
        return Filled.read(rule["input.template"], variables_of(rule["input.paths"]), name)
    return Whole()


def problems(config: Config) -> Iterator[Problem]:
    """Everything that is wrong with targets and rules, beyond single options."""
    yield from run_checks(config, _of_targets, _of_rules)


def _of_targets(config: Config) -> Iterator[Problem]:
    for name in config[TARGETS]:
        target = part_of(config, TARGETS, name)
        yield from named(TARGETS, name, run_checks(target, login_problems, oauth_problems, header_problems))
    yield from run_checks(config, _unused)


def _unused(config: Config) -> Iterator[Problem]:
    used = {target for name in config[RULES] for target in part_of(config, RULES, name)["targets"]}
    for name in config[TARGETS]:
        if name not in used:
            yield Problem(TARGETS, name, "is a target that no rule uses", "Name it in rules.NAME.targets, or take it out.")


def _of_rules(config: Config) -> Iterator[Problem]:
    for name in config[RULES]:
        found = run_checks(part_of(config, RULES, name), _pattern_problems, _input_problems)
        yield from named(RULES, name, found)
        yield from run_checks(config, lambda whole, name=name: _target_problems(whole, name))  # type: ignore[misc]


def named(kind: str, name: str, found: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of one target or rule, as those of the whole configuration."""
    return (replace(each, key=f"{kind}.{name}.{each.key}") for each in found)


def _pattern_problems(rule: Config) -> Iterator[Problem]:
    for flaw in read_pattern(rule["pattern"])[1]:
        value = (
            flaw.value if isinstance(flaw.value, str) and not flaw.path else json.dumps(flaw.value, ensure_ascii=False, default=str)
        )
        where = f"{flaw.path} " if flaw.path else ""
        yield Problem("pattern", value[:_SHOWN], f"{where}{flaw.reason}", flaw.fix)


def _input_problems(rule: Config) -> Iterator[Problem]:
    given = [key for key in _INPUTS if rule[key]]
    if len(given) > 1:
        yield Problem(given[1], rule[given[1]][:_SHOWN], f"says what is sent, and so does {given[0]}", "Remove one of them.")
    if rule["input.paths"] and not rule["input.template"]:
        fix = "Set input.template, or remove it."
        yield Problem("input.paths", ",".join(rule["input.paths"])[:_SHOWN], "has variables for a template, and there is none", fix)


def _target_problems(config: Config, name: str) -> Iterator[Problem]:
    """What a rule sends where, as far as both are there."""
    rule = part_of(config, RULES, name)
    known: Sequence[str] = config[TARGETS]
    for target in rule["targets"]:
        if target not in known:
            yield Problem(
                f"{RULES}.{name}.targets", target, "is no target", f"Use one of {', '.join(known)}, or name it in targets."
            )
    key = next((key for key in _INPUTS if rule[key]), "")
    if not key:
        return
    try:
        sent = _input(name, rule)
    except ValueError as error:
        fix = f"Name it in input.paths, or use one of {', '.join(f'<{each}>' for each in PREDEFINED)}."
        yield Problem(f"{RULES}.{name}.{key}", rule[key][:_SHOWN], str(error), fix)
        return
    for target in rule["targets"]:
        if target in known and not sent.is_json and is_json(part_of(config, TARGETS, target)["content.type"]):
            yield Problem(
                f"{RULES}.{name}.{key}", rule[key][:_SHOWN], f"is no JSON, which targets.{target}.content.type says", _JSON_FIX
            )
