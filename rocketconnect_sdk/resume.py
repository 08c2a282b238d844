"""What a source needs beside an offset to go on: a JSON object, stored with its position. Pure."""

import json
from collections.abc import Mapping, Sequence
from math import isfinite

JSON = bool | int | float | str | None | Sequence["JSON"] | Mapping[str, "JSON"]
"""What can be written as JSON and read back as it was; tuples come back as lists."""

MAXIMUM_BYTES = 64 * 1024
"""Of a map, as it is written."""

_NAMES = {list: "an array", str: "a text", bool: "a boolean", type(None): "null"}


def written(resume: object) -> str:
    """Return the text of a map, which is ASCII; of an empty one nothing.

    Raises:
        ValueError: it can't be written as JSON, or is too long; the text says what is wrong and where, and shows no value.
    """
    try:
        flaw = _flaw(resume, "resume")
        text = "" if flaw or not resume else json.dumps(resume, separators=(",", ":"), allow_nan=False, default=dict)
    except RecursionError:
        flaw, text = "resume is nested too deeply to be written as JSON", ""
    if not isinstance(resume, Mapping):
        flaw = f"resume is a {type(resume).__name__}, not a JSON object: give a mapping with texts as keys"
    if flaw:
        raise ValueError(flaw)
    _check_length(text)
    return text


def read(text: str) -> Mapping[str, JSON]:
    """Return the map of a text; nothing is an empty one.

    Raises:
        ValueError: it is no JSON object, or too long; the text says what is wrong, and shows no value.
    """
    _check_length(text)
    if not text:
        return {}
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        msg = "resume is no JSON: write a JSON object, without NaN or Infinity"
        raise ValueError(msg) from None
    if isinstance(value, dict):
        return value
    msg = f"resume is {_NAMES.get(type(value), 'a number')}, not a JSON object"
    raise ValueError(msg)


def _check_length(text: str) -> None:
    size = len(text.encode(errors="surrogatepass"))
    if size > MAXIMUM_BYTES:
        msg = f"resume takes {size:,} bytes as JSON, and a position holds {MAXIMUM_BYTES:,}: keep what is large elsewhere"
        raise ValueError(msg)


def _flaw(value: object, where: str) -> str:
    """What can't be written as JSON and read back, and where it is; empty: nothing."""
    if value is None or isinstance(value, bool | int | str):
        return ""
    if isinstance(value, float):
        return "" if isfinite(value) else f"{where} is {value}, which JSON can't hold: leave it out"
    if isinstance(value, Mapping):
        if strange := next((key for key in value if not isinstance(key, str)), None):
            return f"{where} has a key that is a {type(strange).__name__}: the keys of a JSON object are texts"
        return next(filter(None, (_flaw(each, f"{where}.{key}") for key, each in value.items())), "")
    if isinstance(value, list | tuple):
        return next(filter(None, (_flaw(each, f"{where}[{index}]") for index, each in enumerate(value))), "")
    return f"{where} is a {type(value).__name__}, which JSON can't hold"


def _no_constant(name: str) -> None:
    raise ValueError(name)
