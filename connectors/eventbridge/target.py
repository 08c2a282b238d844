"""One target: what is sent to it, and what its answers mean."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from connectors.eventbridge.rules import REFUSED
from connectors.http.requests import Shape
from connectors.http.signatures import Signer
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError, SystemAway
from rocketconnect_sdk.http import Answer, HttpClient
from rocketconnect_sdk.http.answers import problem_of
from rocketconnect_sdk.writes import Operation

_BUSY = frozenset({408, 425, 429, 503})
"""What a server says that takes nothing now, whatever the record is."""
_FOR_ALL = frozenset({401, 403, 405, 407})
_NOT_THERE = frozenset({404, 410})
_FAILED = 500


def send(ask: Callable[[], Answer]) -> Answer:
    """One request. Every record goes through here."""
    return ask()


class End(Enum):
    """How it ended that a record was sent."""

    DONE = "done"
    REFUSED = "refused"
    """It will not be taken."""
    FAILED = "failed"
    """The target failed with this one; others may go."""
    AWAY = "away"
    """The target takes nothing now."""


class Outcome(NamedTuple):
    """How it ended.

    Attributes:
        end: How.
        why: For people.
        wait: After how many seconds it is worth while to try again; None: nobody says.
    """

    end: End
    why: str = ""
    wait: float | None = None


class Target:
    """Sends single records.

    Args:
        clients: Of its server: so many requests are under way at once. Each is asked by one thread at a time.
        shape: What requests look like.
        signer: Signs bodies; None: nobody does.
    """

    def __init__(self, clients: Sequence[HttpClient], shape: Shape, signer: Signer | None) -> None:
        self._clients = clients
        self._shape = shape
        self._signer = signer

    @property
    def lanes(self) -> int:
        """How many requests are under way at once."""
        return len(self._clients)

    def ping(self) -> None:
        """Returns when its server answers, whatever it says. Raises as HttpClient.ask."""
        self._clients[0].ask("HEAD", "/")

    def close(self) -> None:
        """Ends connections. It may be used again."""
        for client in self._clients:
            client.close()

    def deliver(self, lane: int, operation: Operation) -> Outcome:
        """Sends a record."""
        if (why := operation.more.get(REFUSED)) is not None:
            return Outcome(End.REFUSED, why)
        client = self._clients[lane]
        try:
            answer = self._asked(client, operation)
        except RecordError as error:
            return Outcome(End.REFUSED, str(error))
        except (SystemAway, RetriableError, PermanentError) as error:
            # What a person has to put right may be so before the record is given up.
            return Outcome(End.AWAY, str(error), getattr(error, "wait", None))
        return self._outcome(client, answer)

    def _outcome(self, client: HttpClient, answer: Answer) -> Outcome:
        if answer.is_good:
            return Outcome(End.DONE)
        said, now = client.hidden(answer.said()), datetime.now(UTC)
        if self._is_for_all(answer):
            return Outcome(End.AWAY, str(problem_of(answer, client.place, said, now)), answer.wait(now))
        if answer.status >= _FAILED:
            return Outcome(End.FAILED, f"the server fails with it: {answer.status}: {said}", answer.wait(now))
        return Outcome(End.REFUSED, f"the server refuses it: {answer.status}: {said}")

    def _asked(self, client: HttpClient, operation: Operation) -> Answer:
        address, body = self._shape.address(operation), self._shape.part(operation)
        headers = {**self._shape.headers, **address.headers, **self._shape.identities([operation])}
        if self._signer is not None:
            headers[self._signer.header] = self._signer.sign(body, time.time())
        return send(lambda: client.ask(address.method, address.path, body, headers=headers, parameters=address.parameters))

    def _is_for_all(self, answer: Answer) -> bool:
        """Whether it says nothing of the record: nobody is let in, the URL is wrong, or the server is busy."""
        if answer.status in _NOT_THERE:
            return self._shape.fixed
        return answer.status in _BUSY or answer.status in _FOR_ALL or answer.status < 400
