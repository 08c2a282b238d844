"""Regular expressions that users write: Python's, with replacements as Java has them: those of Kafka Connect can be copied."""

import re
from collections.abc import Iterable

from rocketconnect_sdk.errors import Problem

_REFERENCE = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}", re.DOTALL)


def pattern_problem(pattern: str) -> str | None:
    """What is wrong with a regular expression, for Option.check."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regular expression of Python: {error}"
    return None


def patterns_problem(patterns: Iterable[str]) -> str | None:
    """What is wrong with the first of some regular expressions that is none, for Option.check."""
    told = ((pattern, pattern_problem(pattern)) for pattern in patterns)
    return next((f"{pattern[:200]!r} {problem}" for pattern, problem in told if problem), None)


def template(replacement: str) -> str:
    r"""What re.sub and Match.expand take for a replacement in which $1 and ${name} stand for groups, and \$ for a dollar."""
    parts = []
    end = 0
    for found in _REFERENCE.finditer(replacement):
        parts.append(replacement[end : found.start()].replace("\\", r"\\"))
        plain, number, name = found.groups()
        parts.append(plain.replace("\\", r"\\") if plain else rf"\g<{number or name}>")
        end = found.end()
    return "".join([*parts, replacement[end:].replace("\\", r"\\")])


def replacement_problem(key: str, pattern: "re.Pattern[str]", replacement: str) -> Problem | None:
    """What is wrong with a replacement: a group that the expression does not have."""
    for plain, number, name in _REFERENCE.findall(replacement):
        if not plain and (int(number) > pattern.groups if number else name not in pattern.groupindex):
            fix = f"The expression has {pattern.groups} groups; write \\$ for a dollar."
            return Problem(key, replacement[:200], f"refers to the group {number or name}, which the expression does not have", fix)
    return None
