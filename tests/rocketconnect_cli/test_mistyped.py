"""Words that are no command."""

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app
from rocketconnect_cli.mistyped import Commands


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("conector list", "no command 'conector': did you mean 'connector'?"),
        ("Connectors", "no command 'Connectors': did you mean 'connector'?"),
        ("connector lst", "no command 'lst': did you mean 'list'?"),
        ("plugins instal", "no command 'instal': did you mean 'install'?"),
        ("status orders", "no command 'status': did you mean 'connector status'?"),
        ("creat", "no command 'creat': did you mean 'connector create', 'topic create', 'token create'?"),
        ("connector peek", "no command 'peek': did you mean 'rocketconnect topic peek'?"),
        ("topic aply", "no command 'aply': did you mean 'rocketconnect apply'?"),
        ("frobnicate", "no command 'frobnicate': see `rocketconnect --help`"),
        ("topic frobnicate", "no command 'frobnicate': see `rocketconnect topic --help`"),
    ],
)
def test_the_nearest_command_is_suggested(words: str, told: str) -> None:
    result = CliRunner().invoke(app, words.split(), prog_name="rocketconnect", env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert told in result.stderr


def test_every_group_suggests() -> None:
    groups = [app, *(group.typer_instance for group in app.registered_groups)]
    assert all(group is not None and issubclass(group.info.cls or object, Commands) for group in groups)
