"""Regular expressions that users write: Java's, and replacements as Java has them, so that those of Kafka Connect can be copied."""

import re
from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from rocketconnect_sdk.configuration.java_patterns import as_python
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Option

_REFERENCE = re.compile(r"\\(.)|\$([0-9]+)|\$\{(\w+)\}", re.DOTALL)
_ALONE = re.compile(r"\$|\\")
_WRITTEN: "WeakKeyDictionary[re.Pattern[str], str]" = WeakKeyDictionary()


def compiled(pattern: str, flags: str = "") -> "re.Pattern[str]":
    """A regular expression, read as Java reads it.

    Args:
        pattern: What the user wrote.
        flags: Those that hold from its beginning, by the letters that (?...) has for them.

    Raises:
        re.error, RecursionError, OverflowError: see pattern_problem.
    """
    made = re.compile(as_python(pattern, flags), re.ASCII)
    _WRITTEN[made] = pattern
    return made


def written(pattern: "re.Pattern[str]") -> str:
    """What the user wrote for it, or the same in other words."""
    return _WRITTEN.get(pattern, pattern.pattern)


def pattern_problem(pattern: str, flags: str = "") -> str | None:
    """What is wrong with a regular expression, for Option.check."""
    try:
        compiled(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is no regular expression of Java that is known here: {error}"
    return None


def pattern_option(key: str, doc: str) -> Option:
    """The option of a regular expression that matches whole names; empty: there is none."""
    return Option(
        key,
        doc,
        default="",
        check=lambda pattern: pattern_problem(pattern) if pattern else None,
        fix="Write a regular expression such as orders-.*.",
    )


def patterns_problem(patterns: Iterable[str]) -> str | None:
    """What is wrong with the first of some regular expressions that is none, for Option.check."""
    told = ((pattern, pattern_problem(pattern)) for pattern in patterns)
    return next((f"{pattern[:200]!r} {problem}" for pattern, problem in told if problem), None)


def found(pattern: "re.Pattern[str]", text: str) -> "Iterator[re.Match[str]]":
    """What Java's Matcher.find finds, one after the other: behind a match of nothing it goes on with the next character."""
    at = 0
    while at <= len(text) and (match := pattern.search(text, at)):
        yield match
        at = match.end() + (not match[0])


def all_replaced(pattern: "re.Pattern[str]", template: str, text: str) -> str:
    """A text with each part that is found replaced, as Java's Matcher.replaceAll does it; see template."""
    parts = []
    end = 0
    for match in found(pattern, text):
        parts += [text[end : match.start()], match.expand(template)]
        end = match.end()
    return "".join([*parts, text[end:]])


def matches_any(patterns: "Iterable[re.Pattern[str]]", text: str) -> bool:
    """Whether one of them matches the whole text."""
    return any(pattern.fullmatch(text) for pattern in patterns)


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
