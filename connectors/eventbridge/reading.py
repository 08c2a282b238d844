"""Reads what stands in the arrays of an event pattern. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from connectors.eventbridge.operators import AnyCase, Beginning, Ending, InNetwork, Leaf, Like, Not, OneOf, Test, Within, is_number
from connectors.eventbridge.wildcards import Wildcard

_ANY_CASE = "equals-ignore-case"
_LOWER, _UPPER = (">", ">="), ("<", "<=")
_NETWORK_FIX = "Write an address and so many bits: 10.0.0.0/24, or 2001:db8::/32."
_NUMERIC_FIX = 'Write ["=", 5], or one or two ends, the lower one first: [">", 0, "<=", 5].'


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a pattern.

    Attributes:
        path: Where, as `detail.state[0].prefix`; empty: the whole.
        value: What stands there.
        reason: What is wrong with it.
        fix: What to do.
    """

    path: str
    value: object
    reason: str
    fix: str


class Wrong(Exception):
    """What stands at one place is wrong."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.reason)
        self.flaw = flaw


def read_leaf(found: Sequence[Any], path: str, flaws: list[Flaw]) -> Leaf:
    """What the values at a place may be, by the array that stands there; what is wrong goes to the flaws."""
    if not found:
        flaws.append(Flaw(path, [], "is an empty array, which no value is in", "Write what may stand there, or leave it out."))
    tests: list[Test] = []
    exists = set[bool]()
    texts = {each for each in found if isinstance(each, str)}
    for number, each in enumerate(found):
        place = f"{path}[{number}]"
        try:
            if isinstance(each, Mapping):
                name, given = _only(each, place)
                if name == "exists":
                    exists.add(_exists(given, f"{place}.exists"))
                elif name == "exactly":
                    texts.add(_text(given, f"{place}.exactly"))
                else:
                    tests.append(_OPERATORS[name](given, f"{place}.{name}"))
            elif isinstance(each, list):
                flaws.append(Flaw(place, each, "is an array within an array", "Write its values into the outer one."))
        except Wrong as wrong:
            flaws.append(wrong.flaw)
    numbers = frozenset(each for each in found if is_number(each))
    constants = tuple(each for each in (True, False, None) if any(each is other for other in found))
    return Leaf(frozenset(texts), numbers, constants, tuple(tests), True in exists, False in exists)


def _only(found: Mapping[str, Any], path: str) -> tuple[str, Any]:
    """The operator of an object, and what is given with it."""
    if len(found) != 1:
        fix = "Write an object for each: several in one array mean that one of them is enough."
        raise Wrong(Flaw(path, found, f"has {len(found)} operators, and one is taken", fix))
    ((name, given),) = found.items()
    if name not in NAMES:
        raise Wrong(Flaw(f"{path}.{name}", given, "is no operator", f"Use one of {', '.join(sorted(NAMES))}."))
    return name, given


def _text(given: Any, path: str) -> str:
    if not isinstance(given, str):
        raise Wrong(Flaw(path, given, "is no text", 'Write a text: "abc".'))
    return given


def _some(given: Any, path: str, *, may_be_empty: bool) -> tuple[str, ...]:
    """One text, or several."""
    if given == []:
        raise Wrong(Flaw(path, given, "is an empty array", 'Write a text, or several: ["a", "b"].'))
    found = [(each, f"{path}[{number}]") for number, each in enumerate(given)] if isinstance(given, list) else [(given, path)]
    for each, place in found:
        if not _text(each, place) and not may_be_empty:
            raise Wrong(Flaw(place, each, "is empty, and every text has that", "Write at least one character."))
    return tuple(each for each, _ in found)


def _part(made: type[Beginning] | type[Ending]) -> Callable[[Any, str], Test]:
    def read(given: Any, path: str) -> Test:
        if not isinstance(given, Mapping):
            return made((_text(given, path),))
        if list(given) != [_ANY_CASE]:
            raise Wrong(Flaw(path, given, f"is no text, and no object with {_ANY_CASE} alone", f'Write {{"{_ANY_CASE}": "abc"}}.'))
        return made((_text(given[_ANY_CASE], f"{path}.{_ANY_CASE}").lower(),), ignoring_case=True)

    return read


def _any_case(given: Any, path: str) -> Test:
    return AnyCase(frozenset([_text(given, path).lower()]))


def _wildcard(given: Any, path: str) -> Test:
    return Like((_asterisks(_text(given, path), path),))


def _asterisks(text: str, path: str) -> Wildcard:
    try:
        return Wildcard.read(text)
    except ValueError as error:
        fix = r"Write one asterisk for any characters; \* is an asterisk, and \\ a backslash (in JSON \\* and \\\\)."
        raise Wrong(Flaw(path, text, str(error), fix)) from None


def _numeric(given: Any, path: str) -> Test:
    if not isinstance(given, list) or len(given) not in (2, 4):
        raise Wrong(Flaw(path, given, "is no array with an operator and a number, or two of each", _NUMERIC_FIX))
    for number, each in enumerate(given[1::2]):
        if not is_number(each):
            raise Wrong(Flaw(f"{path}[{2 * number + 1}]", each, "is no number", "Write a number, without quotes."))
    first, least = given[:2]
    if len(given) == 2:
        if first == "=":
            return Within(least, least)
        if first in _LOWER:
            return Within(least, above=first == ">")
        if first in _UPPER:
            return Within(most=least, below=first == "<")
        raise Wrong(Flaw(f"{path}[0]", first, "is none of =, <, <=, > and >=", _NUMERIC_FIX))
    second, most = given[2:]
    if first not in _LOWER or second not in _UPPER:
        raise Wrong(Flaw(path, given, "is no range with a lower end and an upper end behind it", _NUMERIC_FIX))
    if least >= most:
        raise Wrong(Flaw(path, given, "is a range that no number is in", "Write the smaller number first."))
    return Within(least, most, first == ">", second == "<")


def _cidr(given: Any, path: str) -> Test:
    text = _text(given, path)
    try:
        # Without a number of bits it would be one address.
        network = ip_network(text, strict=False) if "/" in text and text.rpartition("/")[2].isdecimal() else None
    except ValueError:
        network = None
    if network is None:
        raise Wrong(Flaw(path, given, "is no network of addresses", _NETWORK_FIX))
    return InNetwork(network.network_address.packed, network.broadcast_address.packed)


def _exists(given: Any, path: str) -> bool:
    if not isinstance(given, bool):
        raise Wrong(Flaw(path, given, "is neither true nor false", "Write true or false, without quotes."))
    return given


def _anything_but(given: Any, path: str) -> Test:
    if isinstance(given, Mapping):
        if len(given) != 1 or next(iter(given)) not in _BUT:
            raise Wrong(Flaw(path, given, "is no object with one operator that this knows", f"Use one of {', '.join(_BUT)}."))
        ((name, inner),) = given.items()
        place = f"{path}.{name}"
        return Not(_BUT[name](_some(inner, place, may_be_empty=name in (_ANY_CASE, "wildcard")), place))
    values = given if isinstance(given, list) else [given]
    if not values or not (all(isinstance(each, str) for each in values) or all(map(is_number, values))):
        fix = 'Write a text, a number, or an array of texts alone or of numbers alone: ["a", "b"].'
        raise Wrong(Flaw(path, given, "is neither texts nor numbers", fix))
    return Not(OneOf(frozenset(values)))


_OPERATORS: Mapping[str, Callable[[Any, str], Test]] = {
    "prefix": _part(Beginning),
    "suffix": _part(Ending),
    _ANY_CASE: _any_case,
    "wildcard": _wildcard,
    "numeric": _numeric,
    "cidr": _cidr,
    "anything-but": _anything_but,
}
_BUT: Mapping[str, Callable[[tuple[str, ...], str], Test]] = {
    "prefix": lambda texts, _: Beginning(texts),
    "suffix": lambda texts, _: Ending(texts),
    _ANY_CASE: lambda texts, _: AnyCase(frozenset(each.lower() for each in texts)),
    "wildcard": lambda texts, path: Like(tuple(_asterisks(each, path) for each in texts)),
}
NAMES = frozenset({*_OPERATORS, "exists", "exactly"})
"""The names of operators."""
