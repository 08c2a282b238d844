"""What the connectors of another system are here: tables, and how they are read."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import names_secret
from rocketconnect_sdk.translations.draft import Draft

JAVA = "java:"
"""Stands before the class of a connector in Java: a plugin is meant, and no connector of ours that has its place."""
_SHOWN = 100
_HOLDS_SECRETS = re.compile(r"headers|authorization|cookie|jaas|user\.info|://\S*@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Named:
    """An option that there is here, too.

    Attributes:
        ours: Its name here.
        read: Makes our text of theirs; a ValueError says what is wrong with it.
    """

    ours: str
    read: Callable[[str], str] = str

    def apply(self, draft: Draft, key: str) -> None:
        """Translates it."""
        if not draft.peek(key):
            draft.take(key)
        elif text := draft.read(key, self.read):
            draft.set(self.ours, text, key)


@dataclass(frozen=True, slots=True)
class Nothing:
    """An option that means nothing here. Attributes: why: A part of a sentence."""

    why: str

    def apply(self, draft: Draft, key: str) -> None:
        """Leaves it out, and says so."""
        draft.drop(key, self.why)


@dataclass(frozen=True, slots=True)
class Unable:
    """An option without a counterpart: without it something else would be read or written.

    Attributes:
        reason: Why.
        fix: What to do.
        harmless: What it may say all the same, as it is so here; in lower case.
    """

    reason: str
    fix: str
    harmless: Sequence[str] = ()

    def apply(self, draft: Draft, key: str) -> None:
        """Refuses it."""
        if draft.peek(key).lower() in ("", *self.harmless):
            draft.take(key)
        else:
            draft.refuse(key, self.reason, self.fix)


Rule = Named | Nothing | Unable


@dataclass(frozen=True, slots=True)
class Table:
    """What a connector of theirs is here.

    Attributes:
        plugin: The name of ours; empty: `shape` says it.
        classes: The class names that theirs has, and had; upper and lower case are the same.
        options: Their options; a key that ends in a point stands for all that begin with it.
        shape: Translates what takes several options at once, before the others.
        defaults: Options of ours where nothing is given: what theirs does then.
        told: What it does otherwise, whatever the options are: a sentence each.
        sink: It is one; without it the name of ours says so.
    """

    plugin: str
    classes: Sequence[str]
    options: Mapping[str, Rule] = field(default_factory=dict)
    shape: Callable[[Draft], None] | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    told: Sequence[str] = ()
    sink: bool = False


@dataclass(frozen=True)
class System:
    """Another system.

    Attributes:
        name: Its name.
        tables: Of its connectors.
        absent: Class names of connectors that have no counterpart, each with what to do instead.
        sources: Options that all its sources have.
        sinks: Options that all its sinks have.
        class_keys: The options that name the class.
    """

    name: str
    tables: Sequence[Table]
    absent: Mapping[str, str]
    sources: Mapping[str, Rule]
    sinks: Mapping[str, Rule]
    class_keys: Sequence[str] = (CLASS.key,)

    @cached_property
    def by_class(self) -> Mapping[str, Table]:
        """The tables by their class names, in lower case."""
        return {name.lower(): table for table in self.tables for name in table.classes}


@dataclass(frozen=True, slots=True)
class Translated:
    """What a configuration became.

    Attributes:
        config: Ours, without what has problems; the one that was given where it names no connector of the other system.
        warnings: What it became, and what was left out.
        problems: What can't be left out, and has no counterpart.
    """

    config: dict[str, str]
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()


def translate(system: System, config: Mapping[str, str]) -> Translated:
    """The configuration as one of ours. Nothing is lost in silence, and nothing is known of systems here but by the tables."""
    name = next((config[key].strip() for key in system.class_keys if config.get(key, "").strip()), "")
    absent = system.absent.get(name)
    if absent is not None:
        reason = f"is a connector of {system.name} that has no counterpart here"
        fix = f"{absent} Or install its plugin in Java, and write {JAVA}{name}: see migrate.md."
        return Translated(dict(config), (), (Problem(CLASS.key, name, reason, fix),))
    table = system.by_class.get(name.lower())
    if table is None:
        return Translated(dict(config))
    draft = Draft({key: text for key, text in config.items() if key not in system.class_keys})
    if table.shape is not None:
        try:
            table.shape(draft)
        except (ValueError, OverflowError, OSError, RecursionError):
            # What Python says of it may quote a password.
            fix = "Look at its addresses and numbers."
            draft.problems.append(Problem("", "", "has an address, a number or JSON that can't be read", fix))
    common = system.sinks if table.sink or table.plugin.endswith("_sink") else system.sources
    for key in list(draft.left):
        if (rule := _rule(table.options, key) or _rule(common, key)) is not None:
            rule.apply(draft, key)
    for key, text in table.defaults.items():
        draft.default(key, text)
    draft.pass_rest()
    warnings = (_became(name, table, config, draft), *_dropped(draft), *draft.warnings)
    return Translated({CLASS.key: table.plugin, **draft.made}, warnings, tuple(draft.problems))


def _rule(rules: Mapping[str, Rule], key: str) -> Rule | None:
    return rules.get(key) or next((rule for begin, rule in rules.items() if begin.endswith(".") and key.startswith(begin)), None)


def _became(name: str, table: Table, config: Mapping[str, str], draft: Draft) -> Problem:
    """What is told first: whose configuration it is now, and which options it has that were not given so."""
    changed = [_written(key, text) for key, text in draft.made.items() if config.get(key) != text and key != CLASS.key]
    became = f", with {', '.join(changed)}" if changed else ""
    plugin = draft.made.get(CLASS.key, table.plugin)
    reason = " ".join((f"is {plugin} here{became}.", *table.told)).removesuffix(".")
    fix = "Store it as it is given: this is what becomes of it. The page migrate.md says what behaves otherwise."
    return Problem(CLASS.key, name, reason, fix, is_warning=True)


def _dropped(draft: Draft) -> list[Problem]:
    fix = "Nothing is to be done."
    return [Problem(key, "", f"is left out: {why}", fix, is_warning=True) for key, why in draft.dropped.items()]


def _written(key: str, text: str) -> str:
    """What may be a secret, or hold one, as a URL and a list of headers do, is named without its value."""
    written = f"{key}={text}"
    if names_secret(key) or names_secret(text) or _HOLDS_SECRETS.search(written):
        return key
    if "://" in text:
        address, mark, _ = text.partition("?")
        text = f"{address}{mark and '?...'}"
    return f"{key}={text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}"
