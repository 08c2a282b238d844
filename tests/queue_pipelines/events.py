"""What is sent, by its number. Pure."""

from random import Random
from typing import Any

KEYS = 20
_WORDS = ("größe", "new", "paid", "", 'a "quoted" one', "two\nlines", "€ 😀", "x" * 300)


def key(number: int) -> str:
    """One of a few, so that each comes again and again."""
    return f"shop-{number % KEYS}"


def event(number: int) -> dict[str, Any]:
    """The same for each number, and another one for each."""
    chance = Random(number)
    return {
        "number": number,
        "shop": key(number),
        "name": f"{chance.choice(_WORDS)} {number}",
        "amount": chance.randrange(-(1 << 52), 1 << 52),
        "share": chance.random(),
        "paid": chance.random() < 0.5,
    }
