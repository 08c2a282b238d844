"""Words behind the name of a connector: what they were meant for."""

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("connector.class=file_source", "password=hunter2"), "with --set: -s connector.class=... -s password=..."),
        (("orders.json",), "with --file: -f orders.json"),
        (("orders.yaml",), "apply -f orders.yaml takes several connectors"),
        (("file_source",), "as -s KEY=VALUE, once for each key, or as -f FILE"),
    ],
)
@pytest.mark.parametrize("verb", ["create", "update"])
def test_words_behind_a_name_are_refused_with_what_was_meant(verb: str, words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(app, ["connector", verb, "orders", *words, "--url", "http://127.0.0.1:1"])
    assert result.exit_code == 2
    assert said in result.stderr
    assert "hunter2" not in result.output
