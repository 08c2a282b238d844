"""Event patterns: which events a rule is for. Pure.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern.html; where that leaves something open it is as in
https://github.com/aws/event-ruler, but for names with points: these are names as any other.

A pattern is compiled once. What it costs to match grows with the pattern and with the arrays of the event on its way, and with
nothing else: there are no regular expressions, and nothing of the event is looked at that the pattern does not name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from connectors.eventbridge.operators import PLAIN, Leaf
from connectors.eventbridge.reading import NAMES, Flaw, read_leaf
from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.errors import RecordError

_OR = "$or"
_MOST_WAYS = 1_000
"""So many combinations the alternatives of a pattern may have."""
_MISSING = object()
_NO, _LACKS, _HAS = 0, 1, 2
"""It does not match; it does since something is not there; it does by what is there."""
_ARRAYS = (list, tuple)
_Way = Mapping[tuple[str, ...], Leaf]


@dataclass(frozen=True, slots=True)
class Node:
    """What the fields of an object are to be."""

    fields: tuple[tuple[str, Union["Node", Leaf]], ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern.

    Attributes:
        ways: One of these is enough.
    """

    ways: tuple[Node, ...]

    def matches(self, event: Mapping[str, Any]) -> bool:
        """Whether it matches an event."""
        return any(_object(way, event) for way in self.ways)


def read_pattern(source: str) -> tuple[Pattern, Sequence[Flaw]]:
    """Compiles a pattern, and says everything that is wrong with it: it may be used where nothing is."""
    flaws: list[Flaw] = []
    try:
        found = value_of(source)
    except RecordError as error:
        flaws.append(Flaw("", source, f"is no JSON: {error}", "Write a JSON object."))
        return Pattern(()), flaws
    if not isinstance(found, Mapping):
        flaws.append(Flaw("", source, "is no JSON object", 'Write an object: {"source": ["orders"]}.'))
        return Pattern(()), flaws
    if not found:
        # As RocketMQ EventBridge has it.
        return Pattern((Node(()),)), flaws
    ways = _ways(found, (), flaws, within_or=False)
    return Pattern(tuple(_tree(way, flaws) for way in ways)), flaws


def _ways(found: Mapping[str, Any], path: tuple[str, ...], flaws: list[Flaw], *, within_or: bool) -> list[_Way]:
    """The alternatives of an object, each as values by path."""
    made: list[_Way] = [{}]
    if not found:
        flaws.append(Flaw(_said(path), {}, "is an empty object", 'Name a field in it, or write [{"exists": true}] for any value.'))
    for name, part in found.items():
        here = (*path, name)
        some: list[_Way] = [{}]
        if name == _OR:
            some = _either(part, path, flaws)
        elif within_or and name in NAMES:
            fix = f'Write the field that it is of: {{"FIELD": [{{"{name}": ...}}]}}.'
            flaws.append(Flaw(_said(here), part, f"is an operator, and {_OR} takes objects with fields", fix))
        elif isinstance(part, Mapping):
            some = _ways(part, here, flaws, within_or=within_or)
        elif isinstance(part, list):
            some = [{here: read_leaf(part, _said(here), flaws)}]
        else:
            operator = name in NAMES and bool(path)
            fix = f"Write [{{...}}] around it, since operators stand in an array: {_said(path)}: [{{...}}]." if operator else ""
            reason = "is neither an array nor an object, and values of a pattern stand in arrays"
            flaws.append(Flaw(_said(here), part, reason, fix or "Write it in square brackets."))
        if len(made) * len(some) > _MOST_WAYS:
            reason = f"has more than {_MOST_WAYS:,} combinations of its alternatives"
            flaws.append(Flaw(_said(path), "", reason, f"Make several rules of it, or fewer objects in {_OR}."))
            return made
        made = [_both(one, other, flaws) for one in made for other in some]
    return made


def _either(part: Any, path: tuple[str, ...], flaws: list[Flaw]) -> list[_Way]:
    here = _said((*path, _OR))
    if not isinstance(part, list) or len(part) < 2 or not all(isinstance(each, Mapping) for each in part):
        fix = f'Write {{"{_OR}": [{{"a": [1]}}, {{"b": [2]}}]}}.'
        flaws.append(Flaw(here, part, "is no array of two objects or more", fix))
        return [{}]
    return [way for each in part for way in _ways(each, path, flaws, within_or=True)]


def _both(one: _Way, other: _Way, flaws: list[Flaw]) -> _Way:
    for path in one.keys() & other.keys():
        reason = f"is named twice, beside {_OR} and in it"
        _once(flaws, Flaw(_said(path), "", reason, f"Name it in each object of {_OR}, and not beside it."))
    return {**one, **other}


def _tree(way: _Way, flaws: list[Flaw]) -> Node:
    fields: dict[str, Any] = {}
    for path, leaf in way.items():
        held: Any = fields
        for step in path[:-1]:
            held = held.setdefault(step, {})
            if isinstance(held, Leaf):
                break
        if isinstance(held, Leaf) or path[-1] in held:
            reason = f"is both values and an object, beside {_OR} and in it"
            _once(flaws, Flaw(_said(path), "", reason, "Name one of them."))
        else:
            held[path[-1]] = leaf
    return _node(fields)


def _node(fields: Mapping[str, Any]) -> Node:
    return Node(tuple((name, part if isinstance(part, Leaf) else _node(part)) for name, part in fields.items()))


def _once(flaws: list[Flaw], flaw: Flaw) -> None:
    if flaw not in flaws:
        flaws.append(flaw)


def _said(path: tuple[str, ...]) -> str:
    return ".".join(path)


def _at(part: Node | Leaf, value: Any) -> int:
    """How what stands at a place matches."""
    if isinstance(part, Leaf):
        return _values(part, value)
    # The class of most, since asking of any other takes long.
    if type(value) is dict or isinstance(value, Mapping):
        return _object(part, value)
    if isinstance(value, _ARRAYS):
        # All that an object says is of one element. What none of them has is not there.
        found = [_at(part, each) for each in _elements(value)]
        if found:
            return _HAS if _HAS in found else _LACKS if all(found) else _NO
    return _object(part, {})


def _object(node: Node, value: Mapping[str, Any]) -> int:
    found = _LACKS
    for name, part in node.fields:
        one = _at(part, value.get(name, _MISSING))
        if not one:
            return _NO
        found = max(found, one)
    return found


def _values(leaf: Leaf, value: Any) -> int:
    if isinstance(value, PLAIN):
        return _HAS if leaf.takes(value) else _NO
    if isinstance(value, _ARRAYS):
        values = [each for each in _elements(value) if not isinstance(each, Mapping)]
    else:
        values = [] if value is _MISSING or isinstance(value, Mapping) else [value]
    if not values:
        return _LACKS if leaf.absent else _NO
    return _HAS if any(map(leaf.takes, values)) else _NO


def _elements(array: Sequence[Any]) -> Iterator[Any]:
    """What stands in an array, and in the arrays in it, however deep."""
    left = [iter(array)]
    while left:
        for each in left[-1]:
            if isinstance(each, _ARRAYS):
                left.append(iter(each))
                break
            yield each
        else:
            left.pop()
