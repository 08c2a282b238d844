"""Regular expressions that users write."""

import pytest

from rocketconnect_sdk.configuration.patterns import patterns_problem


@pytest.mark.parametrize("wrong", ["(", "a[", "a{99999999999999999999}", "(" * 5_000])
def test_what_is_no_regular_expression_is_told_however_it_is_wrong(wrong: str) -> None:
    told = patterns_problem([r"shop\..*", wrong, "("])
    assert told is not None
    assert told.startswith(f"{wrong[:200]!r} is no regular expression")


def test_regular_expressions_have_no_problem() -> None:
    assert patterns_problem([]) is None
    assert patterns_problem([r"shop\.order.*", "crm"]) is None
