"""A value as people read it, without what is masked. Pure."""

import json
from typing import Any

from services.gateway.masking.rules import Fields

MASK = "***"
VALUE, KEY, HEADERS, PROPERTIES, MESSAGE = "value", "key", "headers", "properties", "message"
"""What is masked beside fields, as answers call it."""
_BLANK = " \t\r\n\ufeff"
_BEGINS = ("{", "[", '"')
_OPENS = "{"
"""Without an object there is no field."""


class _Members(list[tuple[str, Any]]):
    """An object, with names that stand in it twice."""


class _Plain(str):
    """A number, or NaN, as it was written."""

    __slots__ = ()


def masked(text: str, fields: Fields, hidden: set[str]) -> str:
    """Return a value without what is masked: of a JSON object the fields, and all of it where it is none.

    Args:
        text: As it is shown; what was cut is no JSON any more.
        fields: What is masked.
        hidden: Gets what was.
    """
    try:
        read = _read(text)
        if _has_fields(read):
            return _written(_without(read, fields, (), hidden))
    except (ValueError, RecursionError):
        # It is no JSON, or too deep for one.
        pass
    hidden.add(VALUE)
    return MASK


def masked_bytes(content: bytes, fields: Fields, hidden: set[str]) -> bytes:
    """Return the same of bytes."""
    if not content:
        return content
    try:
        text = content.decode()
    except UnicodeDecodeError:
        hidden.add(VALUE)
        return MASK.encode()
    return masked(text, fields, hidden).encode()


def _read(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_Members, parse_float=_Plain, parse_int=_Plain, parse_constant=_Plain)


def _has_fields(read: Any) -> bool:
    if isinstance(read, _Members):
        return True
    # What stands outside of an object is no field, so no rule says whether it may be seen.
    return isinstance(read, list) and bool(read) and all(isinstance(each, _Members) for each in read)


def _without(read: Any, fields: Fields, path: tuple[str, ...], hidden: set[str]) -> Any:
    if isinstance(read, _Members):
        kept = _Members()
        for name, value in read:
            inner = (*path, name)
            if fields.masks(inner):
                hidden.add(".".join(inner))
                kept.append((name, MASK))
            else:
                kept.append((name, _without(value, fields, inner, hidden)))
        return kept
    if isinstance(read, list):
        return [_without(each, fields, path, hidden) for each in read]
    if isinstance(read, str) and not isinstance(read, _Plain):
        return _of_text(read, fields, path, hidden)
    return read


def _of_text(text: str, fields: Fields, path: tuple[str, ...], hidden: set[str]) -> str:
    """JSON that is a text in JSON has fields, too, and so has what is JSON in a part."""
    if not text.lstrip(_BLANK).startswith(_BEGINS):
        return _of_part(text, fields, path, hidden)
    try:
        inner = _read(text.strip(_BLANK))
    except ValueError:
        return _of_part(text, fields, path, hidden)
    seen: set[str] = set()
    without = _without(inner, fields, path, seen)
    hidden |= seen
    # What hides nothing stays as it was written.
    return _written(without) if seen else text


def _of_part(text: str, fields: Fields, path: tuple[str, ...], hidden: set[str]) -> str:
    """Lines of JSON, JSON behind a word or JSON that was cut: nobody knows where a field of it ends."""
    if _OPENS not in text or not fields.may_be_in(text):
        return text
    hidden.add(".".join(path) or VALUE)
    return MASK


def _written(value: Any) -> str:
    if isinstance(value, _Plain):
        return value
    if isinstance(value, _Members):
        return "{" + ",".join(f"{_quoted(name)}:{_written(each)}" for name, each in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return _quoted(value)


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # Halves of characters stay escapes: no answer can hold them.
    return text if text.isprintable() or text.encode("utf-8", "ignore").decode() == text else json.dumps(value)
