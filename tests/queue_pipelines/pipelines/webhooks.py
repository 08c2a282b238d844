"""Requests of senders that try again until one is answered, into a topic, and from there into documents of OpenSearch."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager

from tests import free_ports
from tests.connectors.http.sender import post
from tests.queue_pipelines.comparing import at_least, each_once
from tests.queue_pipelines.events import event
from tests.queue_pipelines.pipeline import BROKER, EXECUTOR, JSON, TASK, TOPIC, Feed, Pipeline
from tests.queue_pipelines.pipelines.documents import Documents
from tests.servers.search.real import OpenSearch

_GIVEN_UP_EACH = 7
"""Each so many events one is sent once, as beacons of browsers are."""


class WebhooksToOpenSearch(Pipeline):
    """See the module."""

    kills = (TASK, TASK, EXECUTOR, BROKER, "target", EXECUTOR)
    feeders = 8

    def start(self, stack: ExitStack) -> None:
        """See Pipeline."""
        target = stack.enter_context(OpenSearch().running())
        self.servers = {"target": target}
        self._documents = Documents(target)
        self._port = free_ports.choose()
        self._lock = threading.Lock()
        self._answered: set[int] = set()

    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Pipeline."""
        source = {
            "connector.class": "webhook_source",
            "listen": f"127.0.0.1:{self._port}",
            "key": "${value.number}",
            "topic": TOPIC,
        }
        sink = {**self._documents.options(), "topics": TOPIC, "id": "${key}"}
        return {"webhooks-in": {**source, **JSON}, "search-out": {**sink, **JSON}}

    @contextmanager
    def feeder(self) -> Iterator[Feed]:
        """See Pipeline."""
        yield self._send

    def arrived(self) -> Set[int]:
        """See Pipeline."""
        return self._documents.numbers()

    def due(self, given: int) -> Set[int]:
        """See Pipeline. What was answered."""
        with self._lock:
            return {number for number in self._answered if number < given}

    def compare(self, given: int) -> str:
        """See Pipeline."""
        found = [json.dumps(document, sort_keys=True) for document in self._documents.all()]
        each_once(set(found), found)
        answered, sent = (
            {json.dumps(event(number), sort_keys=True) for number in numbers} for numbers in (self.due(given), range(given))
        )
        at_least(answered, found, sent)
        return f"{len(answered)} events were answered and are there, and {len(found) - len(answered)} that were not"

    def _send(self, number: int) -> bool:
        """See Feed."""
        try:
            status = post(self._port, json.dumps(event(number)).encode())[0]
        except (OSError, http.client.HTTPException):
            # Nobody listens, or who did has died: no answer.
            status = 0
        if status == http.client.OK:
            with self._lock:
                self._answered.add(number)
        return status == http.client.OK or number % _GIVEN_UP_EACH == 0
