import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_kit.errors import FieldProblem
from services.config import checks


@pytest.mark.parametrize("name", ["a", "0", "A-b_c9", "x" * 128])
def test_good_names_have_no_problem(name: str) -> None:
    assert checks.name_problems(name) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is empty"),
        ("a/b", "a slash"),
        ("a.b", "a dot"),
        ("a b", "a space"),
        ("_a", "begins with '_'"),
        ("-a", "begins with '-'"),
        ("x" * 129, "129 characters"),
        ("x" * 300 + "/", "301 characters long and has a slash"),
        ("naïve", "'ï'"),
        ("a\0b", "U+0000"),
        ("a\n", "a line break"),
        ("ab٣", "'٣'"),
    ],
)
def test_a_wrong_name_is_told_with_what_is_wrong_and_how_to_fix_it(name: str, said: str) -> None:
    (problem,) = checks.name_problems(name)
    assert problem.field == "name"
    assert said in problem.reason
    assert "1 to 128 letters" in problem.fix
    assert len(problem.value) <= 131


def test_all_sizes_are_checked_at_once() -> None:
    config = {f"k{number}": "v" for number in range(1001)} | {"long": "x" * (64 * 1024 + 1), "all": "y" * 64 * 1024}
    config |= {"more": "z" * 64 * 1024, "evenmore": "z" * 64 * 1024, " ": "x"}
    reasons = {problem.field: problem.reason for problem in checks.size_problems(config) if problem.field}
    whole = [problem.reason for problem in checks.size_problems(config) if not problem.field]
    assert reasons["long"] == "has a value of 65,537 bytes"
    assert reasons[" "] == "is not a key"
    assert whole[0] == "has 1,006 keys"
    assert whole[1].startswith("holds ")
    assert not checks.fits(config)
    assert not checks.fits({f"k{number}": "" for number in range(1001)})


def test_the_limits_themselves_are_allowed() -> None:
    config = {"connector.class": "c", **{f"k{number}": "" for number in range(999)}}
    config["k1"] = "x" * 64 * 1024
    assert checks.size_problems(config) == []
    assert checks.fits(config)


@pytest.mark.parametrize("config", [{}, {"connector.class": ""}, {"connector.class": " "}])
def test_a_configuration_without_a_plugin_is_told_in_the_words_of_rocketmq_connect(config: dict[str, str]) -> None:
    (problem,) = checks.class_problems(config)
    assert (problem.field, problem.reason) == ("connector.class", "Request config key: connector.class")
    assert checks.class_problems({"connector.class": "c"}) == []


def test_what_two_know_of_one_field_is_told_once() -> None:
    own, other, whole = FieldProblem("a", "", "mine", ""), FieldProblem("b", "", "theirs", ""), FieldProblem("", "", "whole", "")
    assert checks.together([own, whole], [FieldProblem("a", "", "theirs", ""), other, whole]) == [own, whole, other, whole]


@pytest.mark.parametrize(
    "value",
    ["${env:DB_PASSWORD}", "${file:/run/secret.properties:db}", "${vault:secret/db:password}", "${keystore:db.password}", ""],
)
def test_references_to_secrets_pass(value: str) -> None:
    assert checks.secret_problems({"password": value}, ["password", "absent"]) == []


@pytest.mark.parametrize(
    "value", ["hunter2", "${env:A}hunter2", "${other:A}", "${env:}", "${env:A}${env:B}", "$env:A", "${env:A}\n", "${keystore:}"]
)
def test_literal_secrets_are_refused_without_repeating_them(value: str) -> None:
    (problem,) = checks.secret_problems({"password": value, "user": "me"}, ["password"])
    assert problem.field == "password"
    assert value not in str(problem)
    assert problem.value == "***"
    assert "${env:NAME}, or ${file:PATH:KEY}" in problem.fix
    assert "${keystore:NAME}" in problem.fix


def test_references_that_no_worker_can_resolve_say_why() -> None:
    config = {"b": "${file:/run/secret}", "c": "${vault:secret/db}"}
    problems = checks.secret_problems(config, config)
    assert [(problem.field, problem.value, problem.reason) for problem in problems] == [
        ("b", "${file:/run/secret}", "does not name a file and a key"),
        ("c", "${vault:secret/db}", "does not name a path and a key"),
    ]
    assert checks.without_secrets(problems, config, config) == problems


def test_what_looks_like_a_secret_by_its_key_is_hidden_in_every_problem() -> None:
    config = {"db.password": "hunter2", "api.key": "abc", "accessToken": "${env:TOKEN}", "format": "abcd"}
    problems = [
        FieldProblem("db.password", "hunter2", "is not an option", "Remove it."),
        FieldProblem("api.key", "abc", "is not an option", "Remove it."),
        FieldProblem("accessToken", "${env:TOKEN}", "is not an option", "Remove it."),
        FieldProblem("url", "http://me:hunter2@host", "has hunter2 in it", "Leave hunter2 out."),
        FieldProblem("format", "abcd", "is not one", "Correct it."),
    ]
    assert checks.without_secrets(problems, config, []) == [
        FieldProblem("db.password", "***", "is not an option", "Remove it."),
        FieldProblem("api.key", "***", "is not an option", "Remove it."),
        FieldProblem("accessToken", "${env:TOKEN}", "is not an option", "Remove it."),
        FieldProblem("url", "http://me:***@host", "has *** in it", "Leave *** out."),
        FieldProblem("format", "abcd", "is not one", "Correct it."),
    ]


@given(secret=st.text(st.characters(categories=["L", "N"]), min_size=6), text=st.text(max_size=20))
def test_no_part_of_a_problem_repeats_a_literal_secret(secret: str, text: str) -> None:
    config = {"password": secret, "token": secret[:4]}
    problem = FieldProblem("url", f"{text}{secret}", f"{secret} is wrong{text}", f"do not use {secret}{secret}")
    (hidden,) = checks.without_secrets([problem], config, ["password", "token"])
    assert secret not in f"{hidden.value}\n{hidden.reason}\n{hidden.fix}".replace(text, "")
