"""Expressions of users for names that others choose."""

import pytest

from rocketconnect_sdk.configuration.linear_patterns import LONGEST, Allowed, allowed_problem
from rocketconnect_sdk.configuration.patterns import compiled


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(?:a?){1000}a{1000}b", r"(\w+\s?)*!"])
def test_no_name_takes_for_ever(pattern: str) -> None:
    """A run with Python's own expressions does not end."""
    assert not Allowed([pattern]).has("a" * LONGEST)


@pytest.mark.parametrize(
    "pattern",
    [
        r"plant-[a-z]+",
        r"^orders\..*$",
        r"(?i)orders|\QA.b\E+",
        r"[^\S]+|\S+\b\W",
        r"a\Bb\z|[\w.-]{2,8}?",
        r"\p{Lu}\p{Alpha}*|\x{dc}\u00fc?",
        r"(?x) a  b # c",
        r"(?<name>a)b|(?s).c",
        r"(?:a(?i)b|c)d",
    ],
)
def test_they_mean_what_they_mean_where_names_are_our_own(pattern: str) -> None:
    names = [
        "plant-a",
        "plant-1",
        "orders.a",
        "Orders",
        "A.bb",
        "A.b",
        "axb",
        "\x0b",
        "a",
        "ab",
        "a.b-c",
        "Ü",
        "Üü",
        "Straße",
        "ORDERS",
        "aBd",
        "bcD",
        "cd",
        "\nc",
        ".c",
        "-",
        "b!",
        "b",
    ]
    assert allowed_problem([pattern]) is None
    allowed = Allowed([pattern])
    found = [name for name in ("", *names) if allowed.has(name)]
    assert found == [name for name in ("", *names) if compiled(pattern).fullmatch(name)]
    assert found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?!tmp).*", "for names that others choose"),
        (r"(a)\1", "for names that others choose"),
        ("a++", "for names that others choose"),
        ("a{1001}", "for names that others choose"),
        ("a**", "is no regular expression of Java"),
        ("(", "is no regular expression of Java"),
    ],
)
def test_what_may_take_for_ever_is_refused_before_it_runs(pattern: str, said: str) -> None:
    problem = allowed_problem(["orders", pattern])
    assert problem is not None
    assert problem.startswith(repr(pattern))
    assert said in problem


def test_one_of_them_has_to_match_the_whole_name_and_none_that_is_too_long_is_allowed() -> None:
    allowed = Allowed(["a+", "b"])
    assert [allowed.has(name) for name in ("aa", "b", "ab", "", "a\n")] == [True, True, False, False, False]
    assert [allowed.has("a" * length) for length in (LONGEST, LONGEST + 1)] == [True, False]
