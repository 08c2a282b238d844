"""How configurations are read, also where they are wrong."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import Config, Kind, Option, parse, read, run_checks

NUMBERS = tuple(Option(f"n{number}", "A number.", Kind.INT, required=number % 2 == 0, minimum=0) for number in range(6))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.SIZE, "64KiB", 65536),
        (Kind.SIZE, "10MB", 10_000_000),
        (Kind.SIZE, "1.5k", 1500),
        (Kind.SIZE, "4398046511104.9", 2**42),
        (Kind.DURATION, "500ms", 0.5),
        (Kind.DURATION, "2", 2.0),
        (Kind.DURATION, "1h", 3600.0),
        (Kind.LIST, "a, b;c,", ("a", "b", "c")),
        (Kind.BOOL, "TRUE", True),
        (Kind.INT, " 7 ", 7),
    ],
)
def test_options_are_read_by_their_kind(kind: Kind, text: str, value: object) -> None:
    assert parse([Option("x", "X.", kind)], {"x": text})["x"] == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.SIZE, "10XB"),
        (Kind.SIZE, "-1"),
        (Kind.SIZE, "9" * 5000),
        (Kind.SIZE, "9TiB"),
        (Kind.DURATION, "soon"),
        (Kind.DURATION, "9" * 400 + "d"),
        (Kind.DURATION, "36501d"),
        (Kind.BOOL, "yes"),
        (Kind.INT, "1.5"),
        (Kind.INT, "9" * 5000),
        (Kind.INT, str(2**63)),
        (Kind.FLOAT, "x"),
        (Kind.FLOAT, "NaN"),
        (Kind.FLOAT, "-Infinity"),
        (Kind.FLOAT, "1e400"),
    ],
)
def test_wrong_texts_are_refused_with_what_is_right(kind: Kind, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse([Option("x", "X.", kind)], {"x": text})
    (problem,) = error.value.problems
    assert (problem.key, problem.value) == ("x", text[:200])
    assert problem.fix.startswith("Give ")


@pytest.mark.parametrize(
    ("option", "how"),
    [
        (Option("x", "X.", Kind.DURATION, minimum=0.01, maximum=90), "Give a duration from 10ms to 90s."),
        (Option("x", "X.", Kind.DURATION, minimum=0, maximum=7200), "Give a duration from 0s to 2h."),
        (Option("x", "X.", Kind.SIZE, "1k", minimum=0, maximum=1000), "Give a size from 0 to 1000, for instance 1k."),
        (Option("x", "X.", Kind.BOOL, "true"), "Give true or false, for instance true."),
        (Option("x", "X.", choices=("", "a")), "Give one of a, or leave it empty."),
        (Option("x", "X.", fix="Write it."), "Write it."),
    ],
)
def test_how_an_option_is_written_is_said_by_its_kind_and_limits_or_by_itself(option: Option, how: str) -> None:
    assert option.how == how


def test_a_missing_option_is_told_with_what_it_is_for_and_how_it_is_written() -> None:
    options = (Option("a", "The a.", required=True), Option("b", "The b.", Kind.INT, required=True, minimum=1))
    _, problems = read(options, {})
    assert [problem.fix for problem in problems] == ["Add it: The a.", "Add it: The b. Give a whole number of at least 1."]


def test_each_further_name_of_an_option_is_one_too_many_and_told_with_its_value() -> None:
    option = Option("topic", "T.", aliases=("other", "third"))
    _, problems = read([option], {"topic": "a", "other": "b", "third": "c"})
    assert [(problem.key, problem.value) for problem in problems] == [("other", "b"), ("third", "c")]
    assert all("means the same as topic" in problem.reason for problem in problems)
    assert problems[0].fix == "Give only one of topic, other, third."


@pytest.mark.parametrize(
    "key",
    [
        *("password", "PASSWORD", "dbPassword", "db.password", "db_password2", "passwd", "secret", "client-secret", "auth.token"),
        *("accessToken", "tokens", "credentials", "apikey", "api.key", "apiKey", "API_KEY", "private.key", "s3.access.key"),
    ],
)
def test_the_value_of_an_unknown_key_that_looks_like_a_secret_is_not_shown(key: str) -> None:
    _, (problem,) = read([Option("filename", "The path.")], {key: "hunter2"})
    assert "hunter2" not in str(problem)
    assert problem.reason == "is not an option of this connector (its value may be a secret and is not shown)"


@pytest.mark.parametrize("key", ["key.field", "tokenizer", "secretary", "keys", "api", "passage", "monkey", "filenam"])
def test_the_value_of_any_other_unknown_key_is_shown(key: str) -> None:
    _, (problem,) = read([Option("filename", "The path.")], {key: "value"})
    assert (problem.value, problem.reason) == ("value", "is not an option of this connector")


def test_a_literal_secret_is_refused_and_never_shown() -> None:
    secret = Option("password", "The password.", secret=True, aliases=("pwd",))
    for raw in (
        {"password": "hunter2"},
        {"password": "hunter2${env:A}"},
        {"password": "${env:A}hunter2"},
        {"password": " ${env:A}hunter2"},
        {"password": "${env:A}", "pwd": "hunter2"},
        {"passwort": "hunter2"},
    ):
        config, problems = read([secret], raw)
        assert problems
        assert "hunter2" not in str(problems)
        assert "hunter2" not in str(dict(config.raw)) or "passwort" in raw
    for reference in ("${env:A}", "${file:/a:b}", "${vault:a/b:c}", "${keystore:a.b}"):
        assert parse([secret], {"password": reference})["password"] == reference


@pytest.mark.parametrize(
    "text", ["", " ${env:A}", "${file:/a}", "${file::b}", "${file:/a:}", "${vault:a}", "${keystore:}", "${env:}"]
)
def test_a_secret_that_no_worker_could_resolve_is_refused_with_the_forms_that_work(text: str) -> None:
    forms = "${env:NAME}, or ${file:PATH:KEY} for a file with lines KEY=VALUE, or ${vault:PATH:KEY} for a secret in Vault"
    stored = "${keystore:NAME} for what `rocketconnect secret set NAME` has stored"
    _, problems = read([Option("password", "The password.", secret=True)], {"password": text})
    assert [problem.fix for problem in problems] == [f"Give a reference: {forms}, or {stored}."]


def test_an_option_that_is_wrong_is_still_an_option_and_can_not_be_read() -> None:
    seen = []

    def check(config: Config) -> Iterable[Problem]:
        assert "n1" in config
        assert "other" not in config
        yield Problem("", "", "before", "")
        seen.append(config.get("n1"))
        yield Problem("", "", "after", "")

    config, problems = read(NUMBERS, {"n0": "0", "n1": "x", "n2": "0", "n4": "0"})
    assert [problem.key for problem in problems] == ["n1"]
    assert [problem.reason for problem in run_checks(config, check)] == ["before"]
    assert seen == []


@given(st.fixed_dictionaries({}, optional={option.key: st.sampled_from(["1", "x", "-1", ""]) for option in NUMBERS}))
def test_checks_see_every_right_value_and_no_wrong_one(raw: dict[str, str]) -> None:
    seen: dict[str, object] = {}

    def looks_at(key: str, config: Config) -> Iterable[Problem]:
        seen[key] = config[key]
        return [Problem(key, "", "seen", "")]

    config, problems = read(NUMBERS, raw)
    found = run_checks(config, *(lambda config, key=option.key: looks_at(key, config) for option in NUMBERS))
    keys = {option.key for option in NUMBERS}
    wrong = {problem.key for problem in problems}
    assert {problem.key for problem in found} == keys - wrong
    assert seen == {key: 1 if key in raw else None for key in keys - wrong}
    assert wrong == {option.key for option in NUMBERS if raw.get(option.key, None if option.required else "1") != "1"}


def test_other_texts_of_a_configuration_leave_the_rest_as_it_is() -> None:
    options = (Option("text", "A text."), Option("list", "Texts.", Kind.LIST), Option("count", "A number.", Kind.INT))
    config = parse(
        options,
        {
            "text": "a",
            "list": "a,b",
            "count": "1",
        },
    )
    changed = config.replaced(str.upper)
    assert (changed["text"], changed["list"], changed["count"]) == ("A", ("A", "B"), 1)
    assert changed.raw == {"text": "A", "list": "A,B", "count": "1"}
    assert config["text"] == "a"


NAMED = (
    Option("targets", "The names.", Kind.LIST, required=True),
    Option("targets.NAME.url", "Where.", required=True),
    Option("targets.NAME.user", "Who.", default="me", aliases=("targets.NAME.username",)),
    Option("targets.NAME.token", "A token.", secret=True),
    Option("targets.NAME.tries", "How often.", Kind.INT, "1"),
)


def test_an_option_with_name_in_its_key_is_there_for_each_name_of_its_list() -> None:
    given = {"targets": "a, b-2", "targets.a.url": "x", "targets.b-2.url": "y", "targets.b-2.username": "you"}
    config = parse(NAMED, given)
    assert (config["targets.a.url"], config["targets.b-2.url"]) == ("x", "y")
    assert (config["targets.a.user"], config["targets.b-2.user"]) == ("me", "you")
    one = config.within("targets.b-2.")
    assert dict(one) == {"url": "y", "user": "you", "token": None, "tries": 1}
    assert one.raw == {"url": "y", "username": "you"}
    assert set(parse(NAMED[1:], {})) == set()


def test_what_is_wrong_with_options_of_a_name_is_told_of_that_one() -> None:
    given = {"targets": "a,b", "targets.a.url": "x", "targets.b.tries": "many", "targets.a.ulr": "x", "targets.c.token": "geheim"}
    config, problems = read(NAMED, {**given, "targets.b.token": "geheim"})
    assert {problem.key: problem.reason for problem in problems} == {
        "targets.b.url": "is required and was not given",
        "targets.b.tries": "is not a whole number",
        "targets.b.token": "is a secret and was given as a literal value",
        "targets.a.ulr": "is not an option of this connector",
        "targets.c.token": "is of c, which targets does not name (its value may be a secret and is not shown)",
    }
    assert "geheim" not in str(problems)

    def looks(of_b: Config) -> Iterable[Problem]:
        yield Problem("user", of_b["user"], "seen", "")
        yield Problem("tries", of_b["tries"], "not seen", "")

    assert [problem.reason for problem in run_checks(config.within("targets.b."), looks)] == ["seen"]
