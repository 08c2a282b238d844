"""Records of logfmt: key=value key="a value" key. Pure."""

import re

from connectors.logs.unfit import Unfit

# A key, and behind it a value in quotes, a plain one, or none. Nothing in it can be read in two ways, so it takes linear time.
_PAIR = re.compile(r'([^\s="]++)(?:=(?:"((?:[^"\\]|\\.)*+)"|([^\s"]*+)))?+(?=\s|$)', re.DOTALL)
_SPACE = re.compile(r"\s*+")
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r"}
_SHOWN = 40


def read_logfmt(text: str) -> dict[str, object]:
    """The pairs of a record: values are texts, and a key without a value is true. Of a key that comes again the last one holds.

    Raises:
        Unfit: it is none.
    """
    found: dict[str, object] = {}
    at = _SPACE.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None:
            msg = f"it is no logfmt from character {at + 1} on: {text[at : at + _SHOWN]!r}"
            raise Unfit("InvalidLogfmt", msg)
        key, quoted, plain = pair.groups()
        if quoted is not None:
            found[key] = _ESCAPED.sub(_character, quoted) if "\\" in quoted else quoted
        else:
            found[key] = True if plain is None else plain
        at = _SPACE.match(text, pair.end()).end()  # type: ignore[union-attr]
    if not any(value is not True for value in found.values()):
        raise Unfit("InvalidLogfmt", "it has no key=value")
    return found


def _character(match: re.Match[str]) -> str:
    said = match[1]
    # Half of a pair of surrogates is no character.
    if len(said) > 1:
        code = int(said[1:], 16)
        return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF else chr(code)
    return _PLAIN.get(said, said)
