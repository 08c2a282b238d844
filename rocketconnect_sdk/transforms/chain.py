"""A chain of transforms as a configuration names them: made, checked, and applied to batches. Pure, but for what transforms do."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import Config, Kind, Option, OptionWrong, read
from rocketconnect_sdk.transforms import predicate_class, transform_class
from rocketconnect_sdk.transforms.base import (
    BEYOND_ONE_RECORD,
    Configured,
    Predicate,
    Record,
    Records,
    Transform,
    in_order,
    one_by_one,
)

Found = TypeVar("Found", type[Transform], type[Predicate])

STEP = (
    Option("type", "The name of the transform, or a class name that it is also known as.", required=True, aliases=("class",)),
    Option("predicate", "The name of one of the predicates: only records that it chooses are changed. Empty: all.", default=""),
    Option("negate", "Only records that the predicate does not choose are changed.", Kind.BOOL, "false"),
)
"""The options that every transform has, behind the name of its step."""

PREDICATE = (
    Option("type", "The name of the predicate, or a class name that it is also known as.", required=True, aliases=("class",)),
)
"""The options that every predicate has, behind the name that it is given."""

_STEP_KEYS = frozenset(key for option in STEP for key in (option.key, *option.aliases))


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A record that a step could not change.

    Attributes:
        step: The name of the step.
        transform: What could not.
        error: Why.
        value: The value as it came to this step.
    """

    step: str
    transform: Transform | Predicate
    error: Exception
    value: object


@dataclass(frozen=True, slots=True)
class Transformed:
    """What has become of records.

    Attributes:
        runs: Those that go on, in their order; each of one schema.
        failed: By index those that could not be changed. Indexes that are neither here nor in the runs were dropped.
    """

    runs: Sequence[Records]
    failed: Mapping[int, StepFailed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A transform with its name, and for which records it is.

    Attributes:
        name: As the configuration has it.
        transform: What it does.
        predicate: Chooses the records; None: all.
        negate: It is for those that the predicate does not choose.
    """

    name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    def run(self, records: Records) -> Transformed:
        """Does it to all that it is for.

        Raises:
            SystemAway, RetriableError: nothing was done; the same again later.
            PermanentError: the task is to fail.
        """
        failed: dict[int, StepFailed] = {}
        chosen = self._chosen(records, failed)
        if chosen is None:
            return Transformed(self._apply(records, failed), failed)
        left = [place for place in range(len(records)) if place not in chosen and records.indexes[place] not in failed]
        if not chosen:
            return Transformed([records.take(left)] if failed else [records], failed)
        done = self._apply(records.take(sorted(chosen)), failed)
        if not left:
            return Transformed(done, failed)
        return Transformed(in_order(one_by_one((*done, records.take(left)))), failed)

    def _chosen(self, records: Records, failed: dict[int, StepFailed]) -> set[int] | None:
        """The places of those that it is for; None: all."""
        if self.predicate is None:
            return None
        try:
            found = self.predicate.test_many(records)
        except BEYOND_ONE_RECORD:
            raise
        except Exception:  # found below, one by one
            found = None
        if found is None:
            found = self._tested(self.predicate, records, failed)
        if isinstance(found, bool):
            return None if found is not self.negate else set()
        chosen = {place for place, is_chosen in enumerate(found) if is_chosen is not self.negate}
        return None if len(chosen) == len(records) and not failed else chosen

    def _tested(self, predicate: Predicate, records: Records, failed: dict[int, StepFailed]) -> list[bool]:
        tested = []
        for index, record in zip(records.indexes, records.each(), strict=True):
            try:
                tested.append(predicate.test(record))
            except BEYOND_ONE_RECORD:
                raise
            except Exception as error:  # whatever a foreign predicate does costs its record alone
                failed[index] = StepFailed(self.name, predicate, error, record.value)
                # One that has failed is not chosen.
                tested.append(self.negate)
        return tested

    def _apply(self, records: Records, failed: dict[int, StepFailed]) -> list[Records]:
        if not len(records):
            return []
        try:
            many = self.transform.apply_many(records)
        except BEYOND_ONE_RECORD:
            raise
        except Exception:  # at least one is bad: found below, one by one
            many = None
        if many is not None:
            return [many]
        kept: list[tuple[int, Record]] = []
        each = records.each()
        values = [record.value for record in each]
        for index, value, done in zip(records.indexes, values, self.transform.apply_each(each), strict=True):
            if isinstance(done, Exception):
                failed[index] = StepFailed(self.name, self.transform, done, value)
            elif done is not None:
                kept.append((index, done))
        return in_order(kept)


class Chain:
    """Transforms in their order. Used by one thread."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.steps)

    def run(self, records: Records) -> Transformed:
        """Does all of them. Raises what a step does."""
        runs: Sequence[Records] = [records]
        failed: dict[int, StepFailed] = {}
        for step in self.steps:
            done = [step.run(run) for run in runs if len(run)]
            runs = [run for each in done for run in each.runs]
            for each in done:
                failed.update(each.failed)
        return Transformed([run for run in runs if len(run)], failed)

    def close(self) -> None:
        """Ends what the transforms have begun."""
        for step in self.steps:
            step.transform.close()


def make(raw: Mapping[str, str]) -> Chain:
    """The chain of a configuration whose references are resolved.

    Raises:
        ConfigError: carries all problems.
    """
    plans, problems = _read(raw)
    if problems:
        raise ConfigError(problems)
    predicates = {plan.name: plan.kind(plan.config) for plan in plans.predicates}
    return Chain(
        [
            Step(plan.name, plan.kind(plan.config), predicates.get(plan.predicate) if plan.predicate else None, plan.negate)
            for plan in plans.steps
        ]
    )


def problems(raw: Mapping[str, str]) -> list[Problem]:
    """Everything that is wrong with the transforms and predicates of a configuration, as far as it can be known before it runs."""
    return _read(raw)[1]


def secret_keys(raw: Mapping[str, str]) -> list[str]:
    """The keys of options of transforms and predicates whose values are secrets."""
    found = []
    for prefix, kinds in (("transforms", transform_class), ("predicates", predicate_class)):
        for name in _names(raw, prefix):
            begin = f"{prefix}.{name}."
            try:
                loaded = kinds(_type(raw, begin))
            except ConfigError:
                continue
            kind = loaded[0] if isinstance(loaded, tuple) else loaded
            options = (option for option in kind.options if option.secret)
            found += [begin + key for option in options for key in (option.key, *option.aliases) if begin + key in raw]
    return found


@dataclass(frozen=True, slots=True)
class _StepPlan:
    name: str
    kind: type[Transform]
    config: Config
    predicate: str
    negate: bool


@dataclass(frozen=True, slots=True)
class _PredicatePlan:
    name: str
    kind: type[Predicate]
    config: Config


@dataclass(frozen=True, slots=True)
class _Plans:
    steps: Sequence[_StepPlan]
    predicates: Sequence[_PredicatePlan]


def _read(raw: Mapping[str, str]) -> tuple[_Plans, list[Problem]]:
    problems: list[Problem] = []
    names, known = _names(raw, "transforms"), _names(raw, "predicates")
    predicates = [found for name in known if (found := _predicate(raw, name, problems)) is not None]
    steps = [plan for name in names if (plan := _step(raw, name, known, problems)) is not None]
    for prefix, there in (("transforms", names), ("predicates", known)):
        doubled = sorted({name for name in there if there.count(name) > 1})
        if doubled:
            problems.append(Problem(prefix, ",".join(there)[:200], f"names {', '.join(doubled)} twice", "Name each once."))
        problems += _unnamed(raw, prefix, there)
    used = {raw.get(f"transforms.{name}.predicate", "").strip() for name in names}
    for name in known:
        if name not in used:
            fix = f"Name it in transforms.NAME.predicate, or take {name} out of predicates."
            problems.append(Problem("predicates", name, "is a predicate that no transform uses", fix))
    return _Plans(steps, predicates), problems


def _names(raw: Mapping[str, str], prefix: str) -> list[str]:
    return [name.strip() for name in raw.get(prefix, "").replace(";", ",").split(",") if name.strip()]


def _type(raw: Mapping[str, str], begin: str) -> str:
    return (raw.get(f"{begin}type") or raw.get(f"{begin}class") or "").strip()


def _unnamed(raw: Mapping[str, str], prefix: str, names: Sequence[str]) -> Iterator[Problem]:
    """Options of steps that are not in the list."""
    strange = sorted({key.split(".")[1] for key in raw if key.startswith(f"{prefix}.")} - set(names))
    for name in strange:
        if any(other.startswith(f"{name}.") for other in names):
            continue
        fix = f"Name {name} in {prefix}, or remove these options."
        yield Problem(f"{prefix}.{name}", "", f"has options and is not named in {prefix}", fix)


def _step(raw: Mapping[str, str], name: str, known: Sequence[str], problems: list[Problem]) -> _StepPlan | None:
    begin = f"transforms.{name}."
    predicate = raw.get(f"{begin}predicate", "").strip()
    if predicate and predicate not in known:
        fix = f"Use one of {', '.join(known)}." if known else "Name it in predicates, and give predicates.NAME.type."
        problems.append(Problem(f"{begin}predicate", predicate, "is not named in predicates", fix))
    negate = raw.get(f"{begin}negate", "false").strip().lower()
    if negate not in ("true", "false"):
        problems.append(Problem(f"{begin}negate", negate[:200], "is neither true nor false", "Give true or false."))
    if negate == "true" and not predicate:
        problems.append(Problem(f"{begin}negate", negate, "turns round a predicate, and there is none", f"Give {begin}predicate."))
    found = _kind(raw, begin, transform_class, "transform", problems)
    if found is None:
        return None
    kind, said = found
    config = _options(raw, begin, kind, said, problems)
    return None if config is None else _StepPlan(name, kind, config, predicate, negate == "true")


def _predicate(raw: Mapping[str, str], name: str, problems: list[Problem]) -> _PredicatePlan | None:
    begin = f"predicates.{name}."
    found = _kind(raw, begin, lambda given: (predicate_class(given), {}), "predicate", problems)
    if found is None:
        return None
    config = _options(raw, begin, found[0], {}, problems)
    return None if config is None else _PredicatePlan(name, found[0], config)


def _kind(
    raw: Mapping[str, str],
    begin: str,
    find: Callable[[str], tuple[Found, Mapping[str, str]]],
    what: str,
    problems: list[Problem],
) -> tuple[Found, Mapping[str, str]] | None:
    name = _type(raw, begin)
    if not name:
        fix = f"Give the name of a {what}: see `rocketconnect plugins list`."
        problems.append(Problem(f"{begin}type", "", "is missing", fix))
        return None
    if raw.get(f"{begin}type") and raw.get(f"{begin}class"):
        problems.append(Problem(f"{begin}class", "", "means the same as type, which is given, too", "Give only one of them."))
    try:
        return find(name)
    except ConfigError as error:
        problems += [replace(problem, key=f"{begin}type") for problem in error.problems]
        return None


def _options(
    raw: Mapping[str, str],
    begin: str,
    kind: type[Configured],
    said: Mapping[str, str],
    problems: list[Problem],
) -> Config | None:
    own = {key.removeprefix(begin): value for key, value in raw.items() if key.startswith(begin)}
    own = {**said, **{key: value for key, value in own.items() if key not in _STEP_KEYS}}
    config, wrong = configured(kind, own)
    problems += [replace(problem, key=begin + problem.key if problem.key else begin.rstrip(".")) for problem in wrong]
    return None if wrong else config


def configured(kind: type[Configured], options: Mapping[str, str]) -> tuple[Config, list[Problem]]:
    """The configuration of a transform or predicate, whose options have no prefix; and everything that is wrong with it."""
    config, wrong = read(kind.options, options, plugin=kind.name)
    return config, [*wrong, *_checked(kind, config)]


def _checked(kind: type[Configured], config: Config) -> Iterable[Problem]:
    try:
        return list(kind.check(config))
    except OptionWrong:
        return ()  # that is told already
    except ConfigError as error:
        return error.problems
    except Exception as error:  # whatever a foreign check does
        return [Problem("", "", f"could not be checked: {type(error).__name__}: {error}", "Mend or reinstall the plugin.")]
