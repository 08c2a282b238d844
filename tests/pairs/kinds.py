"""Column types of a source, and values for them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


class Kind(NamedTuple):
    """A column type.

    Attributes:
        definition: As CREATE TABLE has it.
        values: To insert.
        told: What the driver gives of it, as the value that is meant.
        select: How it is selected; {} is the column.
        place: How a value is inserted.
    """

    definition: str
    values: st.SearchStrategy[Any]
    told: Callable[[Any], Any] = lambda value: value
    select: str = "{}"
    place: str = "%s"


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """So many values, the same ones each time, and nothing at the end."""
    found: list[Any] = []

    @settings(max_examples=count, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def keep(value: Any) -> None:
        found.append(value)

    keep()
    # Of booleans and the like there are few.
    return [found[number % len(found)] for number in range(count)] + [None]


def whole(bits: int, *, unsigned: bool = False) -> st.SearchStrategy[int]:
    """Whole numbers."""
    return st.integers(0, 2**bits - 1) if unsigned else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[str]:
    """Decimals, as text: arithmetic would round to 28 digits."""
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda digits: f"{digits}E-{scale}")


def text(most: int, codec: str = "utf-8") -> st.SearchStrategy[str]:
    """Texts without U+0000, which PostgreSQL has no counterpart of."""
    return st.text(st.characters(codec=codec, exclude_characters="\0"), max_size=most)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text(5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text(5), inner, max_size=3),
    max_leaves=5,
)
