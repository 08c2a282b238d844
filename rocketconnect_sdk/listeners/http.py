"""What is spoken over HTTP/1.1: the author says what a request is, the rest is here."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import h11

from rocketconnect_sdk.http import packed
from rocketconnect_sdk.listeners.inbox import Inbox, Outcome
from rocketconnect_sdk.listeners.server import Protocol, drained
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.wording.counts import counted

_IDLE_SECONDS = 75.0
_LARGEST_HEAD = 32 << 10
_PART = 64 << 10
_DRAINED = 1 << 20
_DRAIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes:
        method: GET, POST.
        path: Without parameters, as it was sent.
        query: The parameters, as they were sent.
        headers: By their names in lower case; those that come again with a comma between.
        client: The address of who has sent it.
        body: As it is when it was unpacked.
        sent: The body as it was sent, which signatures are of.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    client: str
    body: bytes = field(default=b"", repr=False)
    sent: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer.

    Attributes:
        status: Of HTTP.
        text: For people.
        headers: More of them.
        data: Stands in the place of the text, and Content-Type among the headers says what it is.
    """

    status: int
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = field(default=b"", repr=False)


class Taken(NamedTuple):
    """What a request has.

    Attributes:
        records: Its records; none: it is done.
        response: The answer when the topic has all of them.
    """

    records: Sequence[Received]
    response: Response


class NotTaken(Exception):
    """A request is answered at once: it becomes nothing.

    Attributes:
        response: The answer.
    """

    def __init__(self, response: Response) -> None:
        super().__init__(f"{response.status}: {response.text}")
        self.response = response


Unpacker = Callable[[bytes, int], bytes]
"""Unpacks a body, which may have so many bytes then. Raises NotTaken."""


def ungzipped(body: bytes, most_bytes: int) -> bytes:
    """What is in a gzip, or in several behind each other. See Unpacker."""
    try:
        return packed.ungzipped(body, most_bytes)
    except packed.TooLong:
        raise NotTaken(too_large(most_bytes)) from None
    except packed.NotPacked as error:
        raise NotTaken(Response(400, f"the body {error}")) from None


def too_large(most_bytes: int) -> Response:
    """The answer to a body with more bytes."""
    return Response(413, f"a body has {counted(most_bytes, 'byte')} at most")


class Receiver(ABC):
    """What requests are. Its methods are called by one thread, and must not block."""

    @property
    def packings(self) -> Mapping[str, Unpacker]:
        """By what Content-Encoding says, in lower case, what unpacks such bodies; those that are not packed need none."""
        return {"gzip": ungzipped}

    @abstractmethod
    def look(self, request: Request) -> None:
        """Looks at a request whose body has not come yet. Raises NotTaken: it is not wanted."""

    @abstractmethod
    def read(self, request: Request) -> Taken:
        """What a request has. Raises NotTaken: it is not taken."""

    def refused(self, request: Request, response: Response) -> Response:
        """The answer to a request that is not taken, in the form that its senders know. By default it is as it is."""
        del request
        return response

    def headers(self, request: Request) -> Mapping[str, str]:
        """What every answer to a request has, whatever it says."""
        del request
        return {}


class HttpProtocol(Protocol):
    """HTTP/1.1.

    Args:
        receiver: What requests are.
        most_bytes: The size of a body, also when it is unpacked.
        seconds: How long a request may take to come.
    """

    too_many: ClassVar[bytes] = b"HTTP/1.1 503 \r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    def __init__(self, receiver: Receiver, most_bytes: int, seconds: float) -> None:
        self._receiver = receiver
        self._most_bytes = most_bytes
        self._seconds = seconds

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inbox: Inbox) -> None:
        """See Protocol."""
        speaker = _Speaker(reader, writer)
        while True:
            try:
                request = await speaker.head(self._seconds)
                if request is None:
                    return
                await self._one(speaker, request, inbox)
            except h11.RemoteProtocolError as error:
                await speaker.answer(Response(error.error_status_hint, f"this is no HTTP: {error}"), {})
                return
            except TimeoutError:
                await speaker.answer(Response(408, f"the request took more than {self._seconds:g} s"), {})
                return
            if not speaker.goes_on():
                await speaker.drain()
                return

    async def _one(self, speaker: "_Speaker", request: Request, inbox: Inbox) -> None:
        room = _Room(inbox)
        try:
            response = await self._response(speaker, request, room)
        except NotTaken as error:
            response = self._receiver.refused(request, error.response)
        finally:
            room.release()
        await speaker.answer(response, self._receiver.headers(request))

    async def _response(self, speaker: "_Speaker", request: Request, room: "_Room") -> Response:
        self._receiver.look(request)
        # Where it is told, nothing of what is too large has to come. What h11 lets through is a number.
        if int(request.headers.get("content-length", "0")) > self._most_bytes:
            raise NotTaken(too_large(self._most_bytes))
        sent = await speaker.body(self._most_bytes, self._seconds, room)
        body = self._unpacked(sent, request.headers.get("content-encoding", "").strip().lower())
        if body is not sent:
            room.grow(len(body))
        whole = Request(request.method, request.path, request.query, request.headers, request.client, body, sent)
        records, response = self._receiver.read(whole)
        outcome = await room.inbox.deliver(records) if records else Outcome.STORED
        if outcome is Outcome.STORED:
            return response
        busy = "too much is waiting" if outcome is Outcome.BUSY else "it is not known whether this is stored"
        raise NotTaken(_later(f"{busy}: send it again"))

    def _unpacked(self, body: bytes, encoding: str) -> bytes:
        packings = self._receiver.packings
        if encoding in packings:
            return packings[encoding](body, self._most_bytes)
        if encoding in ("", "identity"):
            return body
        known = " or ".join(name for name in packings if name)
        raise NotTaken(Response(415, f"Content-Encoding is {known}, or nothing", {"Accept-Encoding": known}))


def _later(text: str) -> Response:
    return Response(503, text, {"Retry-After": "1"})


class _Room:
    """The room that one request has in an inbox."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self._size = 0

    def grow(self, size: int) -> None:
        """Raises NotTaken: there is no room."""
        if not self.inbox.reserve(size):
            raise NotTaken(_later("too much is waiting: send it again"))
        self._size += size

    def release(self) -> None:
        self.inbox.release(self._size)


class _Speaker:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._spoken = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_HEAD)
        peer = writer.get_extra_info("peername")
        self._client = str(peer[0]) if peer else ""
        self._method = ""

    async def head(self, seconds: float) -> Request | None:
        """The next request, without its body; None: the client says nothing more."""
        if self._spoken.trailing_data[0] == b"":
            try:
                data = await asyncio.wait_for(self._reader.read(_PART), _IDLE_SECONDS)
            except TimeoutError:
                return None
            if not data:
                return None
            self._spoken.receive_data(data)
        async with asyncio.timeout(seconds):
            event = await self._event()
        if not isinstance(event, h11.Request):
            return None
        headers: dict[str, str] = {}
        for name, value in event.headers:
            text, key = value.decode("latin-1"), name.decode("ascii")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        path, _, query = event.target.decode("ascii").partition("?")
        self._method = event.method.decode("ascii")
        return Request(self._method, path, query, headers, self._client)

    async def body(self, most_bytes: int, seconds: float, room: _Room) -> bytes:
        """The body of the request. Raises NotTaken: it is too large, or there is no room for it."""
        data = bytearray()
        async with asyncio.timeout(seconds):
            while isinstance(event := await self._event(), h11.Data):
                if len(data) + len(event.data) > most_bytes:
                    raise NotTaken(too_large(most_bytes))
                room.grow(len(event.data))
                data += event.data
        return bytes(data)

    async def answer(self, response: Response, more: Mapping[str, str]) -> None:
        """Sends an answer, if one can be sent."""
        if self._spoken.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        data = response.data or response.text.encode()
        headers = {**more, **response.headers}
        if response.status != 204:
            headers["Content-Length"] = str(len(data))
        if data and not response.data:
            headers["Content-Type"] = "text/plain; charset=utf-8"
        if self._spoken.their_state is not h11.DONE:
            # The rest of the request is not read.
            headers["Connection"] = "close"
        self._send(h11.Response(status_code=response.status, headers=list(headers.items()), reason=b""))
        if data and self._method != "HEAD":
            self._send(h11.Data(data=data))
        self._send(h11.EndOfMessage())
        await drained(self._writer)

    def goes_on(self) -> bool:
        """Whether another request may follow."""
        if self._spoken.our_state is h11.DONE and self._spoken.their_state is h11.DONE:
            self._spoken.start_next_cycle()
            return True
        return False

    async def drain(self) -> None:
        """Reads some of what the client still sends: who does not would have its answer taken away."""
        left = _DRAINED
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                if self._writer.can_write_eof():
                    self._writer.write_eof()
                while left > 0 and (data := await self._reader.read(_PART)):
                    left -= len(data)
        except TimeoutError:
            return

    async def _event(self) -> object:
        while (event := self._spoken.next_event()) is h11.NEED_DATA:
            if self._spoken.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._spoken.receive_data(await self._reader.read(_PART))
        return event

    def _send(self, event: h11.Event) -> None:
        self._writer.write(self._spoken.send(event) or b"")
