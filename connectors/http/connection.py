"""Sends operations as requests."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from zlib import crc32

from connectors.http.requests import Address, Shape
from connectors.http.signatures import Signer
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.http.answers import Answer, problem_of
from rocketconnect_sdk.http.client import HttpClient
from rocketconnect_sdk.writes import Connection, Op, Operation

_TRIES = 5
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0
_LEAST_BYTES = 1 << 10
_DEEP = 4
"""So many requests each client has before all wait for all: the more, the more come twice after a failure."""
_FOR_ALL = frozenset({401, 403, 405, 407})
"""What a server says to whoever asks, whatever the record is."""
_NOT_THERE = frozenset({404, 410})
_TOO_LARGE, _FAILED = 413, 500


def send(ask: Callable[[], Answer]) -> Answer:
    """One request. Every record goes through here."""
    return ask()


def lane_of(operation: Operation, lanes: int) -> int:
    """Which of so many clients sends it: the same for the same key, and for all that have none."""
    key = operation.key or operation.key_value or b""
    return crc32(key if isinstance(key, bytes) else str(key).encode()) % lanes


@dataclass(frozen=True, slots=True)
class _Request:
    lane: int
    address: Address
    operations: Sequence[Operation]
    parts: Sequence[bytes]
    places: Sequence[int]

    def some(self, begin: int, end: int) -> "_Request":
        return _Request(self.lane, self.address, self.operations[begin:end], self.parts[begin:end], self.places[begin:end])


class HttpConnection(Connection):
    """Sends requests: as many at once as there are clients, and those of one key one after the other.

    Args:
        clients: Of the server. Each is asked by one thread at a time.
        shape: What requests look like.
        most_bytes: The size of one with several records.
        stopping: Ends a wait for a busy server.
        signer: Signs bodies; None: nobody does.
        refuses: A record with which the server fails each time (500) is refused; otherwise it is tried for ever.
    """

    def __init__(
        self,
        clients: Sequence[HttpClient],
        shape: Shape,
        most_bytes: int,
        stopping: Event,
        *,
        signer: Signer | None = None,
        refuses: bool = False,
    ) -> None:
        self._clients = clients
        self._shape = shape
        self._bytes = most_bytes
        self._stopping = stopping
        self._signer = signer
        self._refuses = refuses
        self._threads = ThreadPoolExecutor(len(clients)) if len(clients) > 1 else None

    def ping(self) -> None:
        """See Connection. Whatever it answers, it is there."""
        self._clients[0].ask("HEAD", "/")

    def fits(self, operations: Sequence[Operation]) -> int:
        """See Connection: those that become one request, or some for each client."""
        if self._threads is None:
            return self._together(operations)
        return len(self._clients) * self._shape.records * _DEEP

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        refused: dict[int, str] = {}
        if self._threads is None:
            self._write(0, operations, range(len(operations)), refused)
            return refused
        lanes: dict[int, list[int]] = {}
        for place, operation in enumerate(operations):
            lanes.setdefault(lane_of(operation, len(self._clients)), []).append(place)
        running = [self._threads.submit(self._write, lane, operations, places, refused) for lane, places in lanes.items()]
        wait(running)
        for each in running:
            each.result()
        return refused

    def close(self) -> None:
        """See Connection."""
        if self._threads is not None:
            self._threads.shutdown()
        for client in self._clients:
            client.close()

    def _write(self, lane: int, all_of_them: Sequence[Operation], places: Sequence[int], refused: dict[int, str]) -> None:
        """Sends some of the operations, in their order."""
        begin = 0
        while begin < len(places):
            operations = [all_of_them[place] for place in places[begin : begin + self._shape.records]]
            number = self._together(operations)
            mine = places[begin : begin + number]
            try:
                parts = list(map(self._shape.part, operations[:number]))
                request = _Request(lane, self._shape.address(operations[0]), operations[:number], parts, mine)
            except RecordError as error:
                # What can't be sent is alone.
                refused[mine[0]] = str(error)
            else:
                self._send(request, refused)
            begin += number

    def _together(self, operations: Sequence[Operation]) -> int:
        """How many of them become one request."""
        first = operations[0]
        if self._shape.records == 1 or first.op is Op.DELETE:
            return 1
        size, number = 0, 0
        try:
            place = self._shape.place(first)
            for operation in operations[: self._shape.records]:
                size += len(self._shape.part(operation))
                if number and (size > self._bytes or operation.op is Op.DELETE or self._shape.place(operation) != place):
                    break
                number += 1
        except RecordError:
            # It is refused when it is its turn.
            return max(1, number)
        return number

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
            answer = self._ask(request, body)
            if not answer.is_busy:
                return answer
            problem = self._problem(answer)
            if turn == _TRIES and self._refuses and answer.status == _FAILED:
                return answer
            seconds = getattr(problem, "wait", None) or _FIRST_WAIT * 2.0**turn
            # The runtime waits as well, and says so.
            if turn == _TRIES or seconds > _LONGEST_WAIT or self._stopping.wait(seconds):
                raise problem
        raise AssertionError

    def _ask(self, request: _Request, body: bytes) -> Answer:
        address = request.address
        headers = {**self._shape.headers, **address.headers, **self._shape.identities(request.operations)}
        if self._signer is not None:
            headers[self._signer.header] = self._signer.sign(body, time.time())
        client = self._clients[request.lane]
        return send(lambda: client.ask(address.method, address.path, body, headers=headers, parameters=address.parameters))

    def _is_for_all(self, answer: Answer) -> bool:
        if answer.status in _NOT_THERE:
            return self._shape.fixed
        return answer.status in _FOR_ALL or answer.status < 400

    def _problem(self, answer: Answer) -> Exception:
        return problem_of(answer, self._clients[0].place, self._hidden(answer.said()), datetime.now(UTC))

    def _hidden(self, text: str) -> str:
        return self._clients[0].hidden(text)
