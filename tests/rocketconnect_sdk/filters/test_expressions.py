"""Expressions as brokers of RocketMQ read them; `test_filters` of the runtime asks one about these."""

import pytest

from rocketconnect_sdk.filters.expressions import expression_problem

READ = (
    "n BETWEEN 3 AND 5",
    "n NOT BETWEEN 3 AND 5",
    "TAGS = 'new'",
    "tags in ('new', 'it''s')",
    "n NOT IN ('1')",
    "not (n = 3) or n=5 and $a <> 1.5e3",
    "a is null",
    "a IS NOT NULL",
    "a CONTAINS 'x' AND b NOT CONTAINS 'y'",
    "a STARTSWITH 'x' OR a ENDSWITH 'y'",
    "/* c */ n = 3L",
    "n > 3 -- hi\n",
    "n = -3",
    "TRUE",
    "paid",
    "NULL",
    "'a' = 'a'",
    "n >= .5 AND n <= 5.",
)
REFUSED = {
    "n >": "ends where more has to follow",
    "n = 'a' AND": "ends where more has to follow",
    "n == 3": "a property or a value is missing there",
    "n != 3": "unequal is written <>",
    "(n > 3": "ends where more has to follow",
    "a.b = 3": "names of properties have letters, digits, _ and $ alone",
    'n = "1"': "texts stand in single quotes",
    "`n` = 1": "names of properties stand in no quotes",
    "n = 'a": "a text that begins there does not end",
    "n IN (1, 2)": "a text in single quotes is missing there",
    "n IN ()": "a text in single quotes is missing there",
    "1": "true or false is wanted",
    "n = 1 AND 'a'": "true or false is wanted",
    "NOT 'a'": "true or false is wanted",
    "n IS 3": "NULL is missing there",
    " ": "is empty",
    "n = 3 NOT": "ends where more has to follow",
    "n = 3 NOT m": "CONTAINS, STARTSWITH, ENDSWITH, BETWEEN or IN follows a NOT",
}
READ_IN_PART = {
    "n LIKE '%3'": "from character 3 on (LIKE '%3'): nothing can follow there, so brokers would read what is before it alone",
    "connect-ext-country = 'CH'": "from character 8 on (-ext-country = 'CH'): nothing can follow there",
    "n + 1 = 3": "there is no arithmetic",
    "n = 0x3": "from character 6 on (x3): nothing can follow there",
    "n = 1 n = 2": "from character 7 on (n = 2)",
    "(n = 1))": "from character 8 on ())",
}


@pytest.mark.parametrize("expression", READ)
def test_what_brokers_read_is_right(expression: str) -> None:
    assert expression_problem(expression) is None


@pytest.mark.parametrize("expression", [*REFUSED, *READ_IN_PART])
def test_what_brokers_refuse_or_read_in_part_is_wrong_and_says_from_where_on(expression: str) -> None:
    problem = expression_problem(expression)
    assert problem is not None
    assert (REFUSED | READ_IN_PART)[expression] in problem


def test_an_expression_that_is_nested_without_end_is_wrong_and_ends_nothing() -> None:
    assert expression_problem("(" * 100_000 + "a" + ")" * 100_000) is not None
