"""Regular expressions that users write."""

import re

import pytest

from rocketconnect_sdk.configuration.patterns import patterns_problem, replacement_problem, template


@pytest.mark.parametrize("wrong", ["(", "a[", "a{99999999999999999999}", "(" * 5_000])
def test_what_is_no_regular_expression_is_told_however_it_is_wrong(wrong: str) -> None:
    told = patterns_problem([r"shop\..*", wrong, "("])
    assert told is not None
    assert told.startswith(f"{wrong[:200]!r} is no regular expression")


def test_regular_expressions_have_no_problem() -> None:
    assert patterns_problem([]) is None
    assert patterns_problem([r"shop\.order.*", "crm"]) is None


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
