"""Regular expressions that users write: Python's, with replacements as Java has them: those of Kafka Connect can be copied."""

import re
from collections.abc import Iterable

from rocketconnect_sdk.errors import Problem

_REFERENCE = re.compile(r"\\(.)|\$([0-9]+)|\$\{(\w+)\}", re.DOTALL)
_ALONE = re.compile(r"\$|\\")


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


def template(pattern: "re.Pattern[str]", replacement: str) -> str:
    r"""What re.sub and Match.expand take for a replacement in which $1 and ${name} stand for groups, and \$ for a dollar.

    As in Java's Matcher.appendReplacement the digits behind a dollar are the number of a group for as long as there is one of that
    number: $11 is the eleventh group, or the first one and a 1.

    Args:
        pattern: The regular expression with the groups.
        replacement: What the user wrote.
    """
    parts = []
    end = 0
    for found in _REFERENCE.finditer(replacement):
        parts.append(replacement[end : found.start()].replace("\\", r"\\"))
        plain, digits, name = found.groups()
        number, rest = _group(digits or "", pattern.groups)
        parts.append(plain.replace("\\", r"\\") if plain else rf"\g<{number or name}>{rest}")
        end = found.end()
    return "".join([*parts, replacement[end:].replace("\\", r"\\")])


def replacement_problem(key: str, pattern: "re.Pattern[str]", replacement: str) -> Problem | None:
    """What is wrong with a replacement: a group that the expression does not have, or a sign that stands for nothing."""
    fix = f"The expression has {pattern.groups} groups; write \\$ for a dollar, and \\\\ for a backslash."
    for plain, digits, name in _REFERENCE.findall(replacement):
        number = _group(digits, pattern.groups)[0] if digits else name
        if not plain and (int(number) > pattern.groups if number.isdigit() else number not in pattern.groupindex):
            return Problem(key, replacement[:200], f"refers to the group {number}, which the expression does not have", fix)
    if alone := _ALONE.search(_REFERENCE.sub("", replacement)):
        return Problem(key, replacement[:200], f"has a {alone[0]} that stands for nothing", fix)
    return None


def _group(digits: str, groups: int) -> tuple[str, str]:
    """Of digits behind a dollar those that are the number of a group, and the others, which are text."""
    end = 1
    while end < len(digits) and int(digits[: end + 1]) <= groups:
        end += 1
    return digits[:end], digits[end:]
