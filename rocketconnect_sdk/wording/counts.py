"""Counts in the words of messages: one of a thing is no plural. Pure."""

from collections.abc import Sized

_HISSING = ("s", "x", "ch", "sh")
_VOWELS = "aeiou"


def counted(what: int | str | Sized, thing: str, one: str = "", several: str = "") -> str:
    """How many there are of a thing: "1 row", "2 rows", "0 rows", "12,345 dead letters are", "1 dead letter is".

    Args:
        what: The number, also as a text of digits, as JSON has large ones; or what holds as many, but no text.
        thing: One of them; its last word gets the plural. Empty: what is counted was named before.
        one: Stands behind one of them: "is".
        several: Stands behind another number: "are".
    """
    number = int(what) if isinstance(what, int | str) else len(what)
    words = (thing, one) if number == 1 else (thing and plural(thing), several)
    return " ".join(word for word in (f"{number:,}", *words) if word)


def plural(thing: str) -> str:
    """Several of a thing."""
    if thing.endswith("y") and thing[-2:-1] not in _VOWELS:
        return f"{thing[:-1]}ies"
    return f"{thing}es" if thing.endswith(_HISSING) else f"{thing}s"
