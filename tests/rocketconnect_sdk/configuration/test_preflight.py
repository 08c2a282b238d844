"""What a look at a system says where it can't be asked, and where it refuses us."""

from collections.abc import Iterable

import pytest

from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, Option, parse

OPTIONS = (
    Option("url", "The server."),
    Option("user", "Who we are.", references=True),
    Option("password", "Its password.", secret=True),
    Option("ssl.ca.location", "Whom we trust.", default=""),
)
FOUND = Problem("url", "here", "has a fault", "Mend it.")


def told(error: Exception | None, **options: str) -> list[tuple[str, str, str, str, bool]]:
    @preflight(away=("url", "Start it."), refused=("user", "Correct who we are."))
    def look(config: Config) -> Iterable[Problem]:
        assert config["url"] == "here"
        yield FOUND
        if error is not None:
            raise error

    first, *found = look(parse(OPTIONS, {"url": "here", "user": "me", **options}))
    assert first == FOUND
    return [(each.key, each.value, each.reason, each.fix, each.is_warning) for each in found]


@pytest.mark.parametrize("kind", [SystemAway, RetriableError])
def test_what_may_be_there_later_is_a_warning(kind: type[SystemAway | RetriableError]) -> None:
    assert told(kind("nobody answers")) == [("url", "here", "nobody answers", "Start it.", True)]


def test_who_refuses_us_is_a_problem_and_others_are_told_besides() -> None:
    assert told(PermanentError("go away")) == [("user", "me", "go away", "Correct who we are.", False)]
    assert told(None) == []


@pytest.mark.parametrize("kind", [SystemAway, PermanentError])
def test_an_error_that_names_its_option_is_a_problem_of_that_one(kind: type[SystemAway | PermanentError]) -> None:
    error = kind("not trusted").naming("ssl.ca.location")
    assert told(error, **{"ssl.ca.location": "/ca"}) == [("ssl.ca.location", "/ca", "not trusted", "Put it right.", False)]
    (found,) = told(kind("not trusted").naming("of.another"))
    assert found[0] == ("user" if kind is PermanentError else "url")
    assert found[4] == (kind is SystemAway)


def test_what_is_no_answer_of_a_system_is_raised() -> None:
    with pytest.raises(KeyError):
        told(KeyError("a"))


def test_a_login_that_is_still_a_reference_is_not_tried() -> None:
    @preflight()
    def look(config: Config) -> Iterable[Problem]:
        del config
        yield FOUND

    assert list(look(parse(OPTIONS, {"url": "here", "password": "${env:SECRET}"}))) == []
    assert list(look(parse(OPTIONS, {"url": "here", "user": "${env:USER}"}))) == []
    assert list(look(parse(OPTIONS, {"url": "here"}))) == [FOUND]
