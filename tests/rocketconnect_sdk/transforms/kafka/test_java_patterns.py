"""A regular expression finds here what it finds in Java, or is refused with the reason."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.configuration.patterns import compiled, found
from tests.examples import some
from tests.rocketconnect_sdk.transforms.kafka.peer import Kafka

pytestmark = [pytest.mark.slow, pytest.mark.kafka]

_REFUSED = (
    "has no counterpart here",
    "write out the characters",
    "means other things to other versions of Java",
    "which is no character",
    "look-behind requires fixed-width pattern",
    # Of a group that is open, or that there is not: Java takes it, and it never matches.
    "invalid group reference",
    "cannot refer to an open group",
    # Of nothing that is repeated, as in ^* and (?=a)*.
    "multiple repeat",
    "nothing to repeat",
    "bad character range",
    "white space or # within brackets",
)
"""What Java takes and is refused here, and why."""
_SIGNS = st.sampled_from([*"aAbB19_.-é\u0663\u017f\u212a#~&| \n\r\x85\u2028", "\U0001f600"])
_ATOMS = st.sampled_from(
    [
        *(rf"\{each}" for each in "dDwWsShHvVRAZzbBetnrfa.-#&[{"),
        *(
            rf"\p{{{each}}}"
            for each in [
                "Lower",
                "Upper",
                "ASCII",
                "Alpha",
                "Digit",
                "Alnum",
                "Punct",
                "Graph",
                "Print",
                "Blank",
                "Cntrl",
                "XDigit",
                "Space",
                "L",
                "Lu",
                "N",
            ]
        ),
        *(
            r"\P{Alpha}",
            r"\pL",
            r"\x41",
            r"\x{1F600}",
            r"\u00e9",
            r"\ud83d\ude00",
            r"\0101",
            r"\cA",
            r"\Qa.\E",
            r"\Q",
            r"\1",
            r"\11",
        ),
        *("^", "$", ".", "}", "]", "(?<n>a)", r"\k<n>", "(?i)", "(?-i)", "(?s)", "(?m)", "(?x)", "(?iu)", "(?d)", "(?U)"),
        *(
            "[a-b]",
            "[^a]",
            "[]a]",
            "[a-]",
            r"[\w-]",
            r"[\d\s]",
            r"[^\p{Alpha}\h]",
            r"[\Qa-\E]",
            "[a[b]]",
            "[a&&b]",
            "[#a]",
            "[.$^]",
        ),
    ]
)
_TIMES = st.sampled_from(["", "", "", "*", "+", "?", "*?", "++", "?+", "{2}", "{1,}", "{1,2}+", "{,2}"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    opens = st.sampled_from(["(", "(?:", "(?i:", "(?-i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"])
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(opens, inner, _TIMES).map(lambda parts: f"{parts[0]}{parts[1]}){parts[2]}"),
    )


_PATTERNS = st.recursive(
    st.tuples(st.one_of(_SIGNS.map(re.escape), _ATOMS, _ATOMS), _TIMES).map("".join),
    _grown,
    max_leaves=8,
)
_TEXTS = st.text(_SIGNS.filter(str.isprintable) | _SIGNS, max_size=7).filter(
    lambda text: text.isascii() or max(text) < "\U00010000"
)
"""Java has an empty match within a pair of surrogates."""
_EDGE = re.compile(r"\\[bB]")
"""Between letters of ASCII since Java 19, and between all letters before."""
_FLAGS = {"i": 2, "x": 4, "m": 8, "s": 32, "u": 64}
"""By letter the number that Java has for it."""


@settings(max_examples=some(6_000))
@given(_PATTERNS, st.lists(_TEXTS, min_size=1, max_size=4), st.sets(st.sampled_from(list(_FLAGS)), max_size=2))
@example("a(?i)b|c", ["aB", "C", "AB"], set())
@example(r"\d+", ["٣", "3"], set())
@example(r"(?<n>a)\k<n>", ["aa"], set())
@example("a$", ["a\n", "a\r\n", "a\r", "a\u2028"], set())
@example("(?m)^a?$", ["a\r\na", "", "\n", "\r\n"], set())
def test_an_expression_finds_what_it_finds_in_java(kafka: Kafka, pattern: str, texts: list[str], flags: set[str]) -> None:
    number = sum(_FLAGS[flag] for flag in flags)
    try:
        ours = compiled(pattern, "".join(flags))
    except re.error as error:
        refused = str(error)
        if not any(reason in refused for reason in _REFUSED):
            assert "error" in kafka.ask(pattern=pattern, flags=number, text=""), refused
        return
    for text in texts:
        if not text.isascii() and _EDGE.search(pattern):
            continue
        answer = kafka.ask(pattern=pattern, flags=number, text=text)
        if "error" in answer:
            return
        parts = [[each[0], *each.groups()] for each in found(ours, text)]
        assert (ours.fullmatch(text) is not None, parts) == (answer["matches"], answer["found"]), ours.pattern
