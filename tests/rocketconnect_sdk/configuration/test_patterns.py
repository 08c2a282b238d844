"""Regular expressions that users write."""

import re

import pytest

from rocketconnect_sdk.configuration.patterns import (
    all_replaced,
    compiled,
    found,
    patterns_problem,
    replacement_problem,
    template,
)


@pytest.mark.parametrize("wrong", ["(", "a[", "a{99999999999999999999}", "(" * 5_000])
def test_what_is_no_regular_expression_is_told_however_it_is_wrong(wrong: str) -> None:
    told = patterns_problem([r"shop\..*", wrong, "("])
    assert told is not None
    assert told.startswith(f"{wrong[:200]!r} is no regular expression")


def test_regular_expressions_have_no_problem() -> None:
    assert patterns_problem([]) is None
    assert patterns_problem([r"shop\.order.*", "crm"]) is None


@pytest.mark.parametrize(
    ("pattern", "text", "parts"),
    [
        (r"\d+|\w", "٣é7a", ["7", "a"]),
        ("(?i)k", "Kk\u212a", ["K", "k"]),
        ("a$", "a\r\n", ["a"]),
        ("a.", "a\rab", ["ab"]),
        (r"a\Z|b\z", "b\n", []),
        (r"(?<n>.)\k<n>", "abba", ["bb"]),
        ("a(?i)b|c", "aBCAB", ["aB", "C"]),
        (r"\p{Alpha}++\pN?", "ab1", ["ab1"]),
        (r"\Qa.b\E+", "axb a.bb", ["a.bb"]),
        (r"\v\h", "\u2028\u00a0", ["\u2028\u00a0"]),
        ("(?x) a b # c", "ab", ["ab"]),
        ("a*?", "a", ["", ""]),
        ("(?m)^*", "a", ["", ""]),
        (r"(a)(b)\12|\x{41}|\0102", "abab2AB", ["A", "B"]),
    ],
)
def test_an_expression_means_what_it_means_in_java(pattern: str, text: str, parts: list[str]) -> None:
    """As java.util.regex has it; more of them, against itself, are in tests/rocketconnect_sdk/transforms/kafka."""
    assert [each[0] for each in found(compiled(pattern), text)] == parts


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z&&[^b]]",
        "[a[b]]",
        r"\X",
        r"\p{IsGreek}",
        "(?d)a",
        r"(?U)\w",
        "a{",
        "(?<=a+)b",
        r"\Gb",
        "(?(1)a)",
        "(?!(a))",
        "(?<!b(?:(?<n>a)))",
    ],
)
def test_what_has_no_counterpart_of_java_is_refused(pattern: str) -> None:
    assert patterns_problem([pattern]) is not None


def test_behind_a_match_of_nothing_java_goes_on_with_the_next_character() -> None:
    assert all_replaced(compiled("a*?"), "-", "ab") == "-a-b-"


ELEVEN = re.compile("(.)" * 11)


@pytest.mark.parametrize(
    ("replacement", "made"),
    [
        ("$11-$10-$1", "k-j-a"),
        ("$12", "a2"),
        ("$112", "k2"),
        ("${11}$2", "kb"),
        (r"\$1\\$1", r"$1\a"),
        ("$01", "a"),
    ],
)
def test_numbers_of_groups_have_as_many_digits_as_there_are_groups_as_in_java(replacement: str, made: str) -> None:
    assert replacement_problem("to", ELEVEN, replacement) is None
    assert ELEVEN.sub(template(ELEVEN, replacement), "abcdefghijk") == made


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        ("(.)(.)", "$3", "refers to the group 3, which"),
        ("(.)", "${2}", "refers to the group 2, which"),
        ("(?P<a>.)", "${b}", "refers to the group b, which"),
        ("(.)", "US$", "has a $ that stands for nothing"),
        ("(.)", "a\\", "has a \\ that stands for nothing"),
    ],
)
def test_what_java_refuses_in_a_replacement_is_told(pattern: str, replacement: str, said: str) -> None:
    problem = replacement_problem("to", re.compile(pattern), replacement)
    assert problem is not None
    assert said in problem.reason
