"""The tables that a source reads, from the regular expressions which choose them. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rocketconnect_sdk.origins.origin import Origin

_PARTS = re.compile(r"\\\.|\.\*|[\w$ -]|\.")
_ALL = "*"
_LOCAL = ("localhost", "::1")


def address(host: str, port: int) -> str:
    """A server as it stands in places: the same for all names of this machine itself."""
    name = host.strip().lower()
    return f"{'127.0.0.1' if name in _LOCAL else name}:{port}"


def tables_of(
    key: str, place: str, into: str, include: Sequence[str], exclude: Sequence[str], within: Sequence[str] = ()
) -> Iterator[Origin]:
    """The tables at a place.

    Args:
        key: The option that includes.
        place: The database, or its server.
        into: How their topics are made.
        include: Regular expressions for whole names; empty: all.
        exclude: The same, of those that are not read.
        within: The same, of the databases that they are in, whose names come first; empty: all.

    Expressions are known that have nothing but names and .* in them; others are the same only where they are written the same.
    """
    without = [_wildcards(pattern) for pattern in exclude]
    if within and not include:
        include, within = [rf"{database}\..*" for database in within], ()
    for pattern in include or (".*",):
        wildcards = _wildcards(pattern)
        if wildcards is None or (_ALL in wildcards and (None in without or within)):
            # Its like is met by whoever writes the same.
            yield Origin(key, place, "\n".join(["~", pattern, *sorted(exclude), *sorted(within)]), into=into)
            continue
        known = [each for each in without if each is not None]
        if _ALL in wildcards:
            yield Origin(key, place, wildcards, is_pattern=True, without=tuple(sorted(known)), into=into)
        elif not Origin(key, place, _ALL, is_pattern=True, without=known).takes(wildcards):
            continue
        elif _is_within(wildcards, within):
            yield Origin(key, place, wildcards, into=into)


def _is_within(name: str, databases: Iterable[str]) -> bool:
    given = [_wildcards(each) for each in databases]
    database = name.partition(".")[0]
    return not given or any(each is None or Origin("", "", each, is_pattern=True).takes(database) for each in given)


def _wildcards(pattern: str) -> str | None:
    """A regular expression as a name in which only * means something; None: it says more than that."""
    parts = _PARTS.findall(pattern)
    if "".join(parts) != pattern:
        return None
    # A dot alone stands for any character; people mean the one between names.
    return "".join({r"\.": ".", ".*": _ALL}.get(part, part) for part in parts)
