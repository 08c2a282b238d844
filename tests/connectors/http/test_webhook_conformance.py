"""What every source that listens must do."""

import http.client
from collections.abc import Sequence

import pytest

from connectors.http.webhook_source import WebhookSource
from rocketconnect_sdk.conformance.listen import ListenCase, ListenSuite
from tests import free_ports
from tests.connectors.http.sender import post
from tests.suites import slow_but


def case_of(**given: str) -> ListenCase:
    port = free_ports.choose()

    def send(texts: Sequence[str]) -> bool:
        try:
            return post(port, "\n".join(texts).encode())[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    config = {"listen": f"127.0.0.1:{port}", **{key.replace("_", "."): value for key, value in given.items()}}
    return ListenCase(WebhookSource(), config, send)


class TestOne(ListenSuite):
    @pytest.fixture
    def case(self) -> ListenCase:
        return case_of(value_format="text")


@slow_but("test_who_sends_is_answered_when_it_is_stored_and_not_before")
class TestLines(ListenSuite):
    @pytest.fixture
    def case(self) -> ListenCase:
        return case_of(value_format="bytes", records="lines")
