"""Secrets that are given as values, and the references that stand in their place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_kit.sealing import Keys
from rocketconnect_sdk.configuration.references import wrong_reference
from services.config.keystore.moving import moved, secret_name_problems, value_problems

KEYS = Keys([b"k" * 32])


def test_a_value_becomes_a_reference_and_the_rest_stays() -> None:
    config = {"user": "me", "password": "hunter2", "token": "${env:TOKEN}", "empty": "", "wrong": "${env:A}hunter2"}
    changed, values = moved("orders", config, ["password", "token", "empty", "wrong", "absent"], KEYS)
    ((name, value),) = values.items()
    assert value == "hunter2"
    assert re.fullmatch(r"orders\.password\.[0-9a-f]{16}", name)
    assert changed == {**config, "password": f"${{keystore:{name}}}"}


def test_the_same_value_gets_the_same_name_and_another_one_another() -> None:
    def name(connector: str, key: str, value: str, keys: Keys = KEYS) -> str:
        return next(iter(moved(connector, {key: value}, [key], keys)[1]))

    assert name("a", "k", "v1") == name("a", "k", "v1")
    assert len({name("a", "k", "v1"), name("a", "k", "v2"), name("b", "k", "v1"), name("a", "l", "v1")}) == 4
    assert name("a", "k", "v1", Keys([b"x" * 32])) != name("a", "k", "v1")


@given(key=st.text(min_size=1, max_size=300), value=st.text(min_size=1, max_size=20).filter(lambda text: "${" not in text))
def test_every_option_has_a_name_that_can_be_referred_to(key: str, value: str) -> None:
    changed, values = moved("c" * 128, {key: value}, [key], KEYS)
    (name,) = values
    assert not secret_name_problems(name)
    assert wrong_reference(changed[key]) is None


@pytest.mark.parametrize("name", ["", ".a", "-a", "a/b", "a}b", "a b", "é", "a" * 257, "a\n"])
def test_what_can_not_be_referred_to_is_no_name(name: str) -> None:
    (problem,) = secret_name_problems(name)
    assert problem.field == "name"


def test_a_value_that_is_none_is_not_repeated() -> None:
    assert value_problems("a") == []
    assert value_problems("")[0].reason == "is empty"
    (problem,) = value_problems("x" * 65_537)
    assert "xx" not in str(problem)
    assert moved("a", {"k": "x" * 65_537}, ["k"], KEYS)[1] == {}
