"""The command line against a running instance, as people and scripts use it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.console import COMMAND, commands, differing, said
from tests.spoken import rc

pytestmark = pytest.mark.e2e
README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.fixture(scope="module")
def kept(instance: Any) -> Iterator[dict[str, Any]]:
    """A connector that nothing shall change."""
    config = {"connector.class": "file_source", "topic": "kept", "filename": str(instance.folder / "kept.txt")}
    body = {"name": "kept", "config": config, "wantedState": "WANTED_STATE_PAUSED"}
    yield instance.api.request("POST", "/v1/connectors", body=body)["connector"]
    instance.api.request("DELETE", "/v1/connectors/kept")


def settings(**config: str) -> list[str]:
    return [word for key, value in config.items() for word in ("-s", f"{key.replace('__', '.')}={value}")]


@pytest.mark.slow
def test_a_preview_shows_each_step_and_leaves_nothing_behind(instance: Any) -> None:
    source = instance.folder / "preview.csv"
    source.write_text("id,name\n1,a\nx,b\n")
    file = instance.folder / "preview.json"
    texts = {"topic": "previewed", "value.converter": "string"}
    config = {"connector.class": "file_source", "format": "csv", "filename": str(source), **texts}
    transforms = {"transforms": "types", "transforms.types.type": "cast", "transforms.types.spec": "id:int64"}
    file.write_text(json.dumps({**config, **transforms}))
    code, out, err = rc(instance.url, "preview", "-f", str(file))
    assert (code, err) == (0, "")
    for part in ("STEP", "BEFORE", "AFTER", "types", "id = 1  : int64", "can't be done"):
        assert part in out
    code, out, _ = rc(instance.url, "preview", "-f", str(file), "-o", "json")
    assert [step["name"] for step in json.loads(out)["records"][0]["steps"]] == ["read", "types", "message"]
    assert rc(instance.url, "preview", "-f", str(file), "-s", "format=no")[0] == 2
    names = [row["name"] for row in json.loads(rc(instance.url, "connector", "list", "-o", "json")[1])["connectors"]]
    assert not any("preview" in name for name in names)


def test_a_pipeline_from_creation_to_deletion(instance: Any) -> None:
    source, target = instance.folder / "cli.txt", instance.folder / "cli-out.txt"
    source.write_text("one\ntwo\n")
    sink = settings(connector__class="file_lines", engine="native", topics="cli", filename=str(target))
    assert rc(instance.url, "connector", "create", "cli-out", *sink)[0] == 0
    config = settings(connector__class="file_source", topic="cli", filename=str(source))
    code, out, _ = rc(instance.url, "connector", "create", "cli-in", *config, "-o", "json")
    assert code == 0
    assert json.loads(out)["name"] == "cli-in"
    for name in ("cli-in", "cli-out"):
        assert rc(instance.url, "connector", "wait", name)[0] == 0

    assert rc(instance.url, "connector", "create", "cli-in", *config)[0] == 4
    code, out, _ = rc(instance.url, "connector", "list", "-o", "json")
    assert {"cli-in", "cli-out"} <= {row["name"] for row in json.loads(out)["connectors"]}
    assert "cli-in" in rc(instance.url, "cluster")[1]
    assert "file_sink" in rc(instance.url, "plugins", "list")[1]
    assert "filename" in rc(instance.url, "plugins", "show", "file_source")[1]

    assert rc(instance.url, "connector", "pause", "cli-in")[0] == 0
    assert rc(instance.url, "connector", "wait", "cli-in", "--state", "paused")[0] == 0
    with source.open("a") as file:
        file.write("three\n")
    assert rc(instance.url, "connector", "resume", "cli-in")[0] == 0
    assert rc(instance.url, "connector", "wait", "cli-in")[0] == 0
    assert rc(instance.url, "connector", "restart", "cli-in")[0] == 0
    assert rc(instance.url, "connector", "stop", "cli-in")[0] == 0
    assert rc(instance.url, "connector", "wait", "cli-in", "--state", "stopped")[0] == 0
    assert "revision 1" in rc(instance.url, "connector", "logs", "cli-in")[1]
    code, out, _ = rc(instance.url, "position", "get", "cli-in", "-o", "json")
    assert [row["offset"] for row in json.loads(out)["positions"]] == ["[14]"]
    assert rc(instance.url, "connector", "wait", "cli-out")[0] == 0
    assert target.read_text() == "one\ntwo\nthree\n"

    assert rc(instance.url, "connector", "revisions", "cli-in")[0] == 0
    for name in ("cli-in", "cli-out"):
        assert rc(instance.url, "connector", "delete", name)[0] == 0
        assert rc(instance.url, "connector", "status", name)[0] == 3


def test_the_first_pipeline_of_the_readme_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    section = README.split("## Your first pipeline\n")[1].split("\n## ")[0]
    shown = list(commands(section))
    begin = next(place for place, each in enumerate(shown) if each.command.startswith("printf"))
    end = next(place for place, each in enumerate(shown) if each.command.startswith("curl"))
    shown = shown[begin:end]
    assert len([each for each in shown if each.output]) == 3
    assert differing(shown, said(shown, instance.url, tmp_path)) == []
    for name in ("in", "out"):
        assert rc(instance.url, "connector", "delete", name)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["get", "delete"])
@pytest.mark.parametrize("name", ["kept/state", "kept#y", "kept?x", "../connectors"])
def test_a_name_in_which_another_one_stands_touches_nothing(instance: Any, kept: dict[str, Any], verb: str, name: str) -> None:
    code, out, err = rc(instance.url, "connector", verb, name)
    assert (code, out) == (3, "")
    assert name in err
    assert instance.api.request("GET", "/v1/connectors/kept")["connector"] == kept


def test_a_wrong_configuration_is_refused_with_every_problem_and_its_fix(instance: Any) -> None:
    wrong = settings(connector__class="file_source", max__tasks="many", fielname="/x", topic="t")
    code, _, err = rc(instance.url, "connector", "create", "wrong", *wrong)
    assert code == 2
    for word in ("max.tasks", "fielname", "filename", "->"):
        assert word in err
    assert rc(instance.url, "connector", "get", "wrong")[0] == 3
    assert rc(instance.url, "connector", "validate", *wrong)[0] == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a/b", "a.b", "a b", "x" * 300, "-a"])
def test_a_bad_name_is_refused(instance: Any, name: str) -> None:
    config = settings(connector__class="file_source", topic="t", filename="/etc/hostname")
    code, _, err = rc(instance.url, "connector", "create", *config, "--", name)
    assert code == 2
    assert err


@pytest.mark.slow
def test_bad_input_of_every_kind_gets_a_clear_answer(instance: Any) -> None:
    unknown = settings(connector__class="no.such.Class")
    code, _, err = rc(instance.url, "connector", "create", "unknown", *unknown)
    assert code == 2
    assert "file_source" in err
    folder = settings(connector__class="file_source", topic="t", filename=str(instance.folder))
    code, _, err = rc(instance.url, "connector", "create", "folder", *folder)
    assert code == 2
    assert "directory" in err
    for verb in ("status", "get", "pause", "resume", "restart", "stop", "delete", "logs"):
        assert rc(instance.url, "connector", verb, "nobody")[0] == 3


@pytest.mark.slow
def test_a_bad_line_fails_the_task_at_it_and_the_trace_says_where(instance: Any) -> None:
    source = instance.folder / "bad.txt"
    source.write_bytes(b"good\n\xff\xfe bad\nnever sent\n")
    config = settings(connector__class="file_source", topic="bad", filename=str(source))
    assert rc(instance.url, "connector", "create", "bad", *config)[0] == 0
    code, _, err = rc(instance.url, "connector", "wait", "bad", "--state", "running", "--timeout", "5m")
    if code == 0:  # it was seen running before it met the line
        code, _, err = rc(instance.url, "connector", "wait", "bad", "--state", "stopped", "--timeout", "5m")
    assert code == 1
    assert "UTF-8" in err
    assert rc(instance.url, "connector", "status", "bad")[0] == 1
    assert rc(instance.url, "connector", "delete", "bad")[0] == 0


@pytest.mark.slow
def test_a_line_that_is_too_long_for_a_message_goes_to_the_dead_letters(instance: Any) -> None:
    source, target = instance.folder / "long.txt", instance.folder / "long-dead.txt"
    source.write_text("short\n" + "x" * (5 << 20) + "\nshort too\n")
    config = settings(
        connector__class="file_source",
        topic="long",
        filename=str(source),
        errors__tolerance="all",
        errors__deadletterqueue__topic__name="long-dead",
    )
    assert rc(instance.url, "connector", "create", "long", *config)[0] == 0
    sink = settings(connector__class="file_lines", engine="native", topics="long-dead", filename=str(target))
    assert rc(instance.url, "connector", "create", "long-dead", *sink)[0] == 0
    assert rc(instance.url, "connector", "wait", "long", "--state", "idle", "--timeout", "60")[0] == 0
    _, out, _ = rc(instance.url, "connector", "status", "long", "-o", "json")
    metrics = json.loads(out)["tasks"][0]["metrics"]
    assert (metrics["recordsOut"], metrics["deadLetters"]) == ("2", "1")
    assert "long: 1 record has become a dead letter" in rc(instance.url, "connector", "list", "--match", "long")[1]
    code, _, err = rc(instance.url, "connector", "delete", "long")
    assert (code, "long has 1 dead letter that nobody has replayed" in err) == (2, True)
    for name in ("long", "long-dead"):
        assert rc(instance.url, "connector", "delete", name, "--yes")[0] == 0


@pytest.mark.slow
def test_nobody_there_is_its_own_exit_code() -> None:
    command = [COMMAND, "connector", "list", "--url", "http://127.0.0.1:1"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 5
    assert "rocketconnect up" in answer.stderr
