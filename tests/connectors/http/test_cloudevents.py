"""CloudEvents over HTTP: received in all their forms, and sent on."""

import json

from rocketconnect_sdk.converters import converter
from tests.connectors.http.driven import running
from tests.connectors.http.test_webhook_source import hook

EVENT = {
    "specversion": "1.0",
    "id": "1",
    "source": "/shops/süd",
    "type": "order.placed",
    "time": "2024-02-29T01:02:03Z",
    "datacontenttype": "application/json",
    "data": {"total": 12.5},
}
STRUCTURED, BATCH = "application/cloudevents+json", "application/cloudevents-batch+json"


def test_events_come_structured_several_and_with_headers() -> None:
    headers = {"Content-Type": "application/json", "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/shops/s%C3%BCd"}
    headers |= {"ce-type": "order.placed", "ce-time": "2024-02-29T01:02:03Z"}
    with hook(value_format="cloudevents", status="204", key="${value.source}") as made:
        assert made.post(json.dumps(EVENT), headers={"Content-Type": f"{STRUCTURED}; charset=utf-8"})[0] == 204
        assert made.post('{"total": 12.5}', headers=headers)[0] == 204
        assert made.post(json.dumps([EVENT, {**EVENT, "id": "2"}]), headers={"Content-Type": BATCH})[0] == 204
        assert made.post("[]", headers={"Content-Type": BATCH})[0] == 204
    assert made.values == [EVENT, EVENT, EVENT, {**EVENT, "id": "2"}]
    assert {key for _, key, *_ in made.records} == {"/shops/süd"}


def test_a_body_with_a_bad_event_is_refused_as_a_whole() -> None:
    with hook(value_format="cloudevents") as made:
        assert made.post(json.dumps([EVENT, {"id": "2"}]), headers={"Content-Type": BATCH})[:2] == (
            400,
            "no event of CloudEvents: its specversion is None, and no text",
        )
        assert made.post("{", headers={"Content-Type": STRUCTURED})[0] == 400
        assert made.post("<a/>", headers={"Content-Type": "application/cloudevents+xml"})[0] == 400
        assert made.post('{"a": 1}', headers={"Content-Type": "application/json"})[0] == 400
    assert not made.records


def test_who_asks_first_may_send() -> None:
    asked = {"WebHook-Request-Origin": "eventemitter.example.com", "WebHook-Request-Rate": "120"}
    with hook(value_format="cloudevents", token="${env:SECRET}") as made:
        status, _, headers = made.post("", method="OPTIONS", headers=asked)
        assert (status, headers["webhook-allowed-origin"], headers["webhook-allowed-rate"]) == (
            200,
            "eventemitter.example.com",
            "*",
        )
        assert made.post(json.dumps(EVENT), headers={"Content-Type": STRUCTURED})[0] == 401
        assert made.post("", method="OPTIONS")[0] == 405


def test_records_of_the_converter_are_sent_structured_several_and_with_headers() -> None:
    events = [EVENT, {**EVENT, "id": "2", "subject": 'a "b" 100%'}]
    reading = converter("cloudevents", {}, is_key=False)
    values = [reading.decode(json.dumps(event).encode())[0] for event in events]
    with hook(value_format="cloudevents") as made:
        url = f"http://127.0.0.1:{made.port}/"
        with running(url, content_type=STRUCTURED) as run:
            assert run.write(values) == {}
        with running(url, content_type=BATCH, request_format="array") as run:
            assert run.write(values) == {}
        assert made.values == events * 2
        named = ("id", "source", "type", "time", "subject")
        headers = ",".join(["ce-specversion=1.0", *(f"ce-{name}=${{value.{name}}}" for name in named)])
        with running(url, headers=headers, body='"${value.data}"') as run:
            refused = run.write(values)
    assert refused == {0: "the record has no subject there, which ${value.subject} stands for"}
    assert made.values[4:] == events[1:]
