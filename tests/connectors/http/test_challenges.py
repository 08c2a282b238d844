"""What is answered to senders that ask before they send."""

import json

import pytest

from connectors.http.webhook_source import WebhookSource
from rocketconnect_sdk.configuration.connector_options import check_connector
from tests.connectors.http.test_webhook_source import hook

ASKED = {"token": "x", "challenge": "3eZbrw1aBm2rZgRNFdxV", "type": "url_verification"}


def test_slack_is_answered_with_its_challenge_and_the_question_is_no_record() -> None:
    with hook(challenge="slack", records="array", status="202", token="${env:SECRET}") as made:
        known = {"Authorization": "Bearer geheim"}
        status, text, headers = made.post(json.dumps(ASKED), headers=known)
        assert (status, text, headers["content-type"]) == (200, ASKED["challenge"], "text/plain; charset=utf-8")
        assert made.post(json.dumps(ASKED))[0] == 401
        for wrong in (None, 5, "", "a\nb", "x" * 2_000):
            assert made.post(json.dumps({**ASKED, "challenge": wrong}), headers=known)[0] == 400
        assert made.post('[{"type": "event", "text": "url_verification"}]', headers=known)[0] == 202
        assert made.post("[url_verification", headers=known)[0] == 400
    assert made.values == [{"type": "event", "text": "url_verification"}]


def test_meta_is_answered_with_its_challenge_where_it_shows_the_token() -> None:
    asked = "/in?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    with hook(challenge="meta", challenge_token="${env:SECRET}", paths="/in=hooks") as made:
        status, text, headers = made.post("", f"{asked}geheim", method="GET")
        assert (status, text, headers["x-content-type-options"]) == (200, "1158201444", "nosniff")
        for path in (f"{asked}wrong", f"{asked}%FF", "/in", "/in?hub.verify_token="):
            assert made.post("", path, method="GET")[:2] == (403, "hub.verify_token is another one")
        assert made.post("", f"/in?hub.verify_token=geheim{'&a=1' * 200}", method="GET")[0] == 400
        assert made.post("", "/in?hub.verify_token=geheim&hub.challenge=1", method="GET")[:2] == (400, "hub.mode is not subscribe")
        assert made.post("", f"/other{asked[3:]}geheim", method="GET")[0] == 404
        assert made.post('{"type": "url_verification", "challenge": "a"}')[:2] == (200, "")
    assert len(made.values) == 1


def test_nobody_is_answered_who_is_not_named() -> None:
    with hook() as made:
        assert made.post(json.dumps(ASKED))[:2] == (200, "")
        assert made.post("", "/in?hub.mode=subscribe&hub.challenge=1&hub.verify_token=", method="GET")[0] == 405
    assert made.values == [ASKED]


@pytest.mark.parametrize(
    ("given", "key", "reason"),
    [
        ({"challenge": "meta"}, "challenge.token", "is missing, and Meta shows it when it asks"),
        ({"challenge": "slack", "challenge.token": "${env:T}"}, "challenge.token", "means nothing without challenge=meta"),
        ({"challenge": "slack", "value.format": "form"}, "challenge", "is asked in JSON, and value.format=form"),
    ],
)
def test_questions_that_nobody_can_answer_are_told(given: dict[str, str], key: str, reason: str) -> None:
    config = {"connector.class": WebhookSource.name, "topic": "hooks", "listen": "127.0.0.1:8900", **given}
    assert [(each.key, each.reason) for each in check_connector(config).problems] == [(key, reason)]
