"""Regular expressions of users for names that others choose: the time that they take grows with the name alone (RE2).

Python's own may take for ever at a name that was made for that: (a+)+b at many a.
"""

import re
from collections.abc import Iterable
from functools import lru_cache, reduce
from typing import Any

from rocketconnect_sdk.configuration.java_patterns import LAST, NO_BOUNDARY, as_python
from rocketconnect_sdk.configuration.patterns import pattern_problem

LONGEST = 1_000
"""No longer name is allowed, whatever the expressions are."""
_KEPT = 10_000
"""Invariant 7: of so many names it is kept whether they are allowed."""
_ESCAPED = re.compile(r"\\(?:u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_OTHERWISE = {"Z": r"\z", "S": "[:^space:]"}
"""For letters behind a backslash. as_python leaves S within brackets alone."""
_FRAGMENTS = ((LAST, r"\z"), (NO_BOUNDARY, r"\B"), ("(?a", "(?"), ("(?u", "(?"))


class Allowed:
    """Which names are allowed: those that one of some expressions matches whole.

    They are Java's, but for look-arounds, back references and what keeps what it took (a++, (?>a)), which take no linear time.
    (?i) takes both cases of letters of all alphabets, not of a-z alone, and $ is the very end of the name.

    Args:
        patterns: Without problems; see allowed_problem.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        expressions = [_linear(pattern) for pattern in patterns]
        self._known = lru_cache(_KEPT)(lambda name: any(each.fullmatch(name) for each in expressions))

    def has(self, name: str) -> bool:
        """Whether a name is allowed. Safe from any thread."""
        return len(name) <= LONGEST and self._known(name)


def allowed_problem(patterns: Iterable[str]) -> str | None:
    """What is wrong with the first of some expressions that Allowed does not take, for Option.check."""
    told = ((pattern, pattern_problem(pattern) or _problem(pattern)) for pattern in patterns)
    return next((f"{pattern[:200]!r} {problem}" for pattern, problem in told if problem), None)


def _problem(pattern: str) -> str | None:
    import re2

    try:
        _linear(pattern)
    except re2.error as error:
        what = error.args[0].decode(errors="replace")[:200]
        return f"has what is not known for names that others choose, as it may take for ever: {what}"
    return None


def _linear(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.never_capture, options.log_errors = True, False
    made = reduce(lambda text, each: text.replace(*each), _FRAGMENTS, as_python(pattern))
    return re2.compile(_ESCAPED.sub(_again, made), options)


def _again(found: "re.Match[str]") -> str:
    code = found[1] or found[2]
    return rf"\x{{{code}}}" if code else _OTHERWISE.get(found[3], found[0])
