"""How people create and change connectors by forms, in a real browser in front of `rocketconnect up`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser import Page
from tests.console.conftest import Started

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def option(key: str) -> str:
    return f'[name="{key}"]'


def stored(started: Started, name: str) -> dict[str, Any]:
    found: Any = started.api.request("GET", f"/v1/connectors/{name}")["connector"]
    return dict(found)


def update(started: Started, name: str, changed: dict[str, str], reason: str = "") -> None:
    now = stored(started, name)
    body = {"config": {**now["config"], **changed}, "etag": now["etag"], "reason": reason}
    started.api.request("PUT", f"/v1/connectors/{name}", body=body)


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    """That of a source of one line."""
    (tmp_path / "in.txt").write_text("one\n")
    return {"connector.class": "file_source", "filename": str(tmp_path / "in.txt"), "topic": "forms"}


def test_a_connector_is_created_from_nothing_and_each_problem_stands_at_its_option(
    started: Started, page: Page, config: dict[str, str]
) -> None:
    page.show(started.url)
    page.click("button", "Create a connector")
    page.write("input[type=search]", "file_source")
    page.click("tbody a", "file_source")
    page.write("#connector-name", "formed")
    page.write(option("filename"), "no/absolute/path")
    page.until("document.querySelector('[name=filename][aria-invalid=true] ~ [role=alert]')?.innerText.includes('path')")
    assert page.violations() == []
    page.write(option("filename"), config["filename"])
    page.write(option("topic"), config["topic"])
    page.sees("No problem was found.")
    assert json.loads(page.run("document.querySelector('#as-json').value")) == config
    page.write("#as-json", json.dumps({**config, "topic": "formed"}))
    page.until(f"document.querySelector({json.dumps(option('topic'))}).value === 'formed'")
    page.click("button", "Preview the first records")
    page.sees("value", "one")
    assert page.violations() == []
    page.click("button", "Create")
    page.sees("formed is created")
    assert stored(started, "formed")["config"] == {**config, "topic": "formed"}


def test_of_two_people_who_change_a_connector_the_second_sees_why_the_first_did_and_keeps_both(
    started: Started, page: Page, config: dict[str, str]
) -> None:
    started.create("shared", config)
    page.show(f"{started.url}#/change/shared")
    page.write("input[type=search]", "max.tasks")
    page.write(option("max.tasks"), "2")
    update(started, "shared", {"batch.records": "7"}, "theirs")
    page.sees("Somebody else has changed it meanwhile", "Why: theirs")
    assert page.violations() == []
    page.click("button", "Go on with both changes")
    page.click("button", "See what changes")
    page.sees("Save the configuration of shared?")
    assert page.run("[...document.querySelectorAll('dialog td code')].map((each) => each.innerText)") == ["max.tasks"]
    assert page.violations() == []
    page.click("dialog button", "Save")
    page.sees("The configuration of shared is saved")
    assert stored(started, "shared")["config"] == {**config, "batch.records": "7", "max.tasks": "2"}


def test_a_connector_is_rolled_back_to_an_earlier_revision(started: Started, page: Page, config: dict[str, str]) -> None:
    started.create("earlier", config)
    page.show(f"{started.url}#/connectors/earlier/history")
    update(started, "earlier", {"batch.records": "7"})
    page.click("button", "Roll back to revision 1")
    page.sees("batch.records", "stop it first")
    assert page.violations() == []
    page.click("dialog button", "Roll back")
    page.sees("earlier has the configuration of revision 1 again")
    assert (stored(started, "earlier")["config"], stored(started, "earlier")["revision"]) == (config, "3")
