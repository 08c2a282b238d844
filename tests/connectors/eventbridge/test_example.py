"""The rules of the example, with what its README shows."""

import json
import re
from pathlib import Path

import yaml

from connectors.eventbridge.sink import EventBridgeSink
from tests.connectors.eventbridge.driven import running
from tests.connectors.http.test_webhook_source import hook

EXAMPLE = Path(__file__).parents[3] / "examples/events-to-webhooks"


def test_the_example_sends_what_it_shows() -> None:
    readme = (EXAMPLE / "README.md").read_text()
    (given,) = [
        each["config"]
        for each in yaml.safe_load_all((EXAMPLE / "connectors.yaml").read_text())
        if each["config"]["connector.class"] == EventBridgeSink.name
    ]
    events = [json.loads(event) for event in re.findall(r"post '(.*)'", readme)]
    with hook(paths="/sent/*=events-sent") as made:
        known = {option.key.split(".")[0] for option in EventBridgeSink.options}
        options = {key: text.replace("8901", str(made.port)) for key, text in given.items() if key.split(".")[0] in known}
        with running(options) as run:
            assert run.write(events) == {}
    shown = [json.loads(line) for line in readme.split("sort -u")[1].splitlines() if line.startswith("{")]
    assert sorted(map(json.dumps, made.values)) == sorted(map(json.dumps, shown))
