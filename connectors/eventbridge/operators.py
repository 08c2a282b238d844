"""What a value in an event may be: the operators of event patterns, compiled. Pure.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from decimal import Decimal
from socket import AF_INET, AF_INET6, inet_pton
from typing import Any, Protocol

from connectors.eventbridge.wildcards import Wildcard
from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.files.lines import to_json

_LONGEST_ADDRESS = 45
"""Characters. What is longer is no address, and is not looked at."""
_NUMBERS = (int, float, Decimal)
PLAIN = (str, bool, *_NUMBERS, type(None))
"""What stands in JSON beside objects and arrays."""


class Test(Protocol):
    """Looks at a value that is neither an object nor an array."""

    def takes(self, value: Any) -> bool:
        """Whether it is such a value."""


def is_number(value: Any) -> bool:
    """Whether a value is a number of JSON."""
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Beginning:
    """A text that begins with one of some; ignoring_case: these are in small letters."""

    texts: tuple[str, ...]
    ignoring_case: bool = False

    def takes(self, value: Any) -> bool:
        """See Test."""
        return isinstance(value, str) and (value.lower() if self.ignoring_case else value).startswith(self.texts)


@dataclass(frozen=True, slots=True)
class Ending:
    """A text that ends with one of some; ignoring_case: these are in small letters."""

    texts: tuple[str, ...]
    ignoring_case: bool = False

    def takes(self, value: Any) -> bool:
        """See Test."""
        return isinstance(value, str) and (value.lower() if self.ignoring_case else value).endswith(self.texts)


@dataclass(frozen=True, slots=True)
class AnyCase:
    """A text that is one of some, which are in small letters, but for its case."""

    texts: frozenset[str]

    def takes(self, value: Any) -> bool:
        """See Test."""
        return isinstance(value, str) and value.lower() in self.texts


@dataclass(frozen=True, slots=True)
class Like:
    """A text that one of some wildcards stands for."""

    wildcards: tuple[Wildcard, ...]

    def takes(self, value: Any) -> bool:
        """See Test."""
        return isinstance(value, str) and any(each.takes(value) for each in self.wildcards)


@dataclass(frozen=True, slots=True)
class Within:
    """A number between two; None: there is no such end. `above` and `below`: the end itself is outside."""

    least: Any = None
    most: Any = None
    above: bool = False
    below: bool = False

    def takes(self, value: Any) -> bool:
        """See Test."""
        if not is_number(value):
            return False
        if self.least is not None and not (value > self.least if self.above else value >= self.least):
            return False
        return self.most is None or bool(value < self.most if self.below else value <= self.most)


@dataclass(frozen=True, slots=True)
class InNetwork:
    """A text that is an address between two, which are in bytes: those of IPv4, or those of IPv6."""

    first: bytes
    last: bytes

    def takes(self, value: Any) -> bool:
        """See Test."""
        if not isinstance(value, str) or len(value) > _LONGEST_ADDRESS:
            return False
        try:
            address = inet_pton(AF_INET6 if ":" in value else AF_INET, value)
        except (OSError, ValueError):
            return False
        return len(address) == len(self.first) and self.first <= address <= self.last


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some texts, or of some numbers."""

    values: frozenset[Any]

    def takes(self, value: Any) -> bool:
        """See Test."""
        return (isinstance(value, str) or is_number(value)) and value in self.values


@dataclass(frozen=True, slots=True)
class Not:
    """Any value that another test does not take, of whatever type it is."""

    test: Test

    def takes(self, value: Any) -> bool:
        """See Test."""
        return not self.test.takes(value)


@dataclass(frozen=True, slots=True)
class Leaf:
    """What the values at one place of an event may be.

    Attributes:
        texts: These.
        numbers: Numbers that are equal to one of these, however they are written.
        constants: true, false, null.
        tests: What one of these takes.
        exists: Any value.
        absent: None at all.
    """

    texts: frozenset[str] = frozenset()
    numbers: frozenset[Any] = frozenset()
    constants: Collection[bool | None] = field(default=())
    tests: tuple[Test, ...] = ()
    exists: bool = False
    absent: bool = False

    def takes(self, value: Any) -> bool:
        """Whether a value that is there, and is neither an object nor an array, is one of these."""
        if self.exists:
            return True
        if not isinstance(value, PLAIN):
            # A time, say, is what the target would read.
            value = value_of(to_json(value))
        if isinstance(value, str):
            found = value in self.texts
        elif value is None or isinstance(value, bool):
            found = any(value is each for each in self.constants)
        else:
            found = value in self.numbers
        return found or any(test.takes(value) for test in self.tests)
