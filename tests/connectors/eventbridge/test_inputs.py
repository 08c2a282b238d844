"""What of an event is sent."""

from typing import Any

import pytest

from connectors.eventbridge.inputs import Constant, Filled, Part, Whole
from connectors.eventbridge.paths import MISSING, Path
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.writes.templates import Told

EVENT: dict[str, Any] = {
    "time": "2015-11-11T21:29:54Z",
    "resources": ["arn:1", "arn:2"],
    "detail": {"instance-id": "i-0123456789", "state": 'RUN"NING', "n": 5, "items": [{"id": 1}, {"no": 2}, {"id": 3}]},
}
PATHS = {
    name: Path.read(path)
    for name, path in {
        "instance": "$.detail.instance-id",
        "state": "$.detail.state",
        "n": "$.detail.n",
        "resources": "$.resources",
        "gone": "$.detail.gone",
    }.items()
}


def told(event: object = EVENT) -> Told:
    return Told("orders", "orders/b/0", 7, "k", event, {}, 1_767_225_600_000)


def filled(template: str) -> str:
    return Filled.read(template, PATHS, "billing").text(EVENT, told())


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", EVENT),
        ("$.detail.instance-id", "i-0123456789"),
        ("$.resources[1]", "arn:2"),
        ("$.resources[2]", MISSING),
        ("$.detail.items[*].id", [1, 3]),
        ("$.detail.items.id", MISSING),
        ("$.resources.*", ["arn:1", "arn:2"]),
        ("$.detail.n[*]", []),
        ("$.time.x", MISSING),
    ],
)
def test_a_path_finds_what_stands_there(path: str, found: object) -> None:
    assert Path.read(path).find(EVENT) == found


@pytest.mark.parametrize("path", ["detail", "$detail", "$.", "$.a..b", "$[x]", "$['a']", "$.a[", "$.a[-1]", "$.a b"])
def test_what_is_no_path_is_told(path: str) -> None:
    with pytest.raises(ValueError, match=r"does not begin with \$|which is neither"):
        Path.read(path)


def test_a_template_of_json_has_values_outside_of_quotes_and_text_within() -> None:
    template = '{"instance": <instance>, "state": [9, <state>, true], "all": <resources>, '
    template += '"text": "<instance> is <state>: <n> <resources>"}'
    assert filled(template) == (
        '{"instance": "i-0123456789", "state": [9, "RUN\\"NING", true], "all": ["arn:1","arn:2"], '
        '"text": "i-0123456789 is RUN\\"NING: 5 [\\"arn:1\\",\\"arn:2\\"]"}'
    )
    assert filled('"instance <instance> \\"<n>\\" is in <state>"') == '"instance i-0123456789 \\"5\\" is in RUN\\"NING"'
    assert filled('{"gone": <gone>, "text": "a<gone>b", "less": "1 < 2"}') == '{"gone": null, "text": "ab", "less": "1 < 2"}'


def test_a_template_of_text_has_values_as_they_are() -> None:
    assert filled('<instance> is "<state>"<gone>') == 'i-0123456789 is "RUN"NING"'
    assert not Filled.read("<instance> is", PATHS, "billing").is_json


def test_some_variables_are_there_without_a_path() -> None:
    template = '{"rule": <aws.events.rule-name>, "at": <aws.events.event.ingestion-time>, "e": <aws.events.event>}'
    assert filled(template) == (
        '{"rule": "billing", "at": "2026-01-01T00:00:00Z", "e": {"time":"2015-11-11T21:29:54Z","resources":["arn:1","arn:2"]}}'
    )
    assert filled("<aws.events.event.json>").startswith('{"time":"2015')
    with pytest.raises(ValueError, match=r"has <aws\.events\.rule-arn>, which is no variable"):
        filled("<aws.events.rule-arn>")


def test_an_event_is_sent_with_its_digits_and_names() -> None:
    source = '{"n":1.50,  "b":12345678901234567890}'
    assert Whole().text({}, told(source)) == source
    assert Whole().text({}, told({"n": 1})) == '{"n":1}'
    assert Part(Path.read("$.detail.items[0]"), "$.detail.items[0]").text(EVENT, told()) == '{"id":1}'
    with pytest.raises(RecordError, match=r"the event has nothing at \$.gone"):
        Part(Path.read("$.gone"), "$.gone").text(EVENT, told())
    assert (Constant("{}").text(EVENT, told()), Constant("{}").is_json, Constant("no").is_json) == ("{}", True, False)
