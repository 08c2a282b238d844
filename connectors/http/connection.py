"""Sends operations as requests."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event

from connectors.http.requests import Address, Shape
from connectors.http.signatures import Signer
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.http.answers import Answer, problem_of
from rocketconnect_sdk.http.client import HttpClient
from rocketconnect_sdk.http.login import Login
from rocketconnect_sdk.http.oauth import ClientCredentials
from rocketconnect_sdk.writes import Connection, Op, Operation

_TRIES = 5
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0
_LEAST_BYTES = 1 << 10
_FOR_ALL = frozenset({401, 403, 405, 407})
"""What a server says to whoever asks, whatever the record is."""
_NOT_THERE = frozenset({404, 410})
_TOO_LARGE, _FAILED = 413, 500


def send(ask: Callable[[], Answer]) -> Answer:
    """One request. Every record goes through here."""
    return ask()


@dataclass(frozen=True, slots=True)
class _Request:
    address: Address
    operations: Sequence[Operation]
    parts: Sequence[bytes]
    places: Sequence[int]

    def some(self, begin: int, end: int) -> "_Request":
        return _Request(self.address, self.operations[begin:end], self.parts[begin:end], self.places[begin:end])


class HttpConnection(Connection):
    """Sends requests, one after the other.

    Args:
        client: Of the server.
        shape: What requests look like.
        most_bytes: The size of one with several records.
        stopping: Ends a wait for a busy server.
        signer: Signs bodies; None: nobody does.
        login: Its secrets are hidden in what the server says.
        credentials: Has the token of OAuth; None: there is none.
        refuses: A record with which the server fails each time (500) is refused; otherwise it is tried for ever.
    """

    def __init__(
        self,
        client: HttpClient,
        shape: Shape,
        most_bytes: int,
        stopping: Event,
        *,
        login: Login,
        signer: Signer | None = None,
        credentials: ClientCredentials | None = None,
        refuses: bool = False,
    ) -> None:
        self._client = client
        self._shape = shape
        self._bytes = most_bytes
        self._stopping = stopping
        self._login = login
        self._signer = signer
        self._credentials = credentials
        self._refuses = refuses

    def ping(self) -> None:
        """See Connection. Whatever it answers, it is there."""
        if self._credentials is not None:
            self._credentials.token()
        self._client.ask("HEAD", "/")

    def fits(self, operations: Sequence[Operation]) -> int:
        """See Connection: those that become one request."""
        first = operations[0]
        if self._shape.records == 1 or first.op is Op.DELETE:
            return 1
        size, number = 0, 0
        try:
            address = self._shape.address(first)
            for operation in operations[: self._shape.records]:
                size += len(self._shape.part(operation))
                if number and (size > self._bytes or operation.op is Op.DELETE or self._shape.address(operation) != address):
                    break
                number += 1
        except RecordError:
            # It is refused when it is its turn.
            return max(1, number)
        return number

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        refused: dict[int, str] = {}
        try:
            address = self._shape.address(operations[0])
            parts = list(map(self._shape.part, operations))
        except RecordError as error:
            # `fits` gives such a one alone.
            return {0: str(error)}
        self._send(_Request(address, operations, parts, range(len(operations))), refused)
        return refused

    def close(self) -> None:
        """See Connection."""
        self._client.close()
        if self._credentials is not None:
            self._credentials.close()

    def _send(self, request: _Request, refused: dict[int, str]) -> None:
        body = b"" if request.address.method == "DELETE" else self._shape.body(request.parts)
        answer = self._insisted(request, body)
        if answer.is_good or (request.address.method == "DELETE" and answer.status in _NOT_THERE):
            return
        if self._is_for_all(answer):
            raise self._problem(answer)
        if answer.status == _TOO_LARGE:
            self._bytes = max(_LEAST_BYTES, len(body) // 2)
        if len(request.places) == 1:
            how = "fails with" if answer.status >= _FAILED else "refuses"
            refused[request.places[0]] = f"the server {how} it: {answer.status}: {self._hidden(answer.said())}"
            return
        # One of them is what the server does not take.
        middle = len(request.places) // 2
        self._send(request.some(0, middle), refused)
        self._send(request.some(middle, len(request.places)), refused)

    def _insisted(self, request: _Request, body: bytes) -> Answer:
        """An answer of a server that is not busy."""
        for turn in range(1, _TRIES + 1):
            answer = self._asked(request, body)
            if not answer.is_busy:
                return answer
            problem = self._problem(answer)
            if turn == _TRIES and self._refuses and answer.status == _FAILED:
                return answer
            wait = getattr(problem, "wait", None) or _FIRST_WAIT * 2.0**turn
            # The runtime waits as well, and says so.
            if turn == _TRIES or wait > _LONGEST_WAIT or self._stopping.wait(wait):
                raise problem
        raise AssertionError

    def _asked(self, request: _Request, body: bytes) -> Answer:
        answer = self._ask(request, body)
        if answer.status == 401 and self._credentials is not None:
            # A token may end before its time.
            self._credentials.forget()
            answer = self._ask(request, body)
        return answer

    def _ask(self, request: _Request, body: bytes) -> Answer:
        address = request.address
        headers = {**self._shape.headers, **address.headers, **self._shape.identities(request.operations)}
        if self._signer is not None:
            headers[self._signer.header] = self._signer.sign(body, time.time())
        if self._credentials is not None:
            headers["Authorization"] = f"Bearer {self._credentials.token()}"
        return send(lambda: self._client.ask(address.method, address.path, body, headers=headers, parameters=address.parameters))

    def _is_for_all(self, answer: Answer) -> bool:
        if answer.status in _NOT_THERE:
            return self._shape.fixed
        return answer.status in _FOR_ALL or answer.status < 400

    def _problem(self, answer: Answer) -> Exception:
        return problem_of(answer, self._client.place, self._hidden(answer.said()), datetime.now(UTC))

    def _hidden(self, text: str) -> str:
        text = self._login.hidden(text)
        return text if self._credentials is None else self._credentials.hidden(text)
