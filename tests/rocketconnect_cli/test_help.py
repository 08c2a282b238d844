"""The help of every command can be read by who has never seen it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*words, name))


ALL = dict(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", [words for words in ALL if words != ("serve",)], ids=" ".join)
def test_help_names_what_is_to_be_given_and_not_what_python_makes_of_it(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0
    usage = next(line for line in result.stdout.splitlines() if "Usage:" in line)
    assert re.findall(r"\.\.\.\S*\.\.\.|\[\[|[{\[][a-z_]+[}\]]", usage) == []
    assert [line for line in result.stdout.splitlines() if re.search(r"^\W*--.*<list\[", line)] == []


@pytest.mark.parametrize(("words", "command"), ALL.items(), ids=[" ".join(words) for words in ALL])
def test_each_command_argument_and_option_says_what_it_is(words: tuple[str, ...], command: Any) -> None:
    assert command.help
    assert all(parameter.help for parameter in command.params if parameter.name != "help"), words


def test_what_people_meet_first_stands_first_with_the_first_steps_below() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    assert shown.index(" up ") < shown.index(" doctor ") < shown.index(" connector ") < shown.index(" serve ")
    assert "rocketconnect connector create NAME -s connector.class=PLUGIN" in shown


def test_a_duration_is_shown_as_it_is_given() -> None:
    shown = CliRunner().invoke(app, ["connector", "wait", "--help"], env={"COLUMNS": "200"}).stdout
    assert "[default: (1m)]" in shown or "[default: 1m]" in shown
