"""Who sends messages of syslog: over TCP, in datagrams, and over RELP."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from logging import Logger
from zoneinfo import ZoneInfo

from connectors.logs.frames import Command, Commands, Frame, Frames
from connectors.logs.syslog import read_syslog
from connectors.logs.unfit import Unfit
from rocketconnect_sdk.listeners import Datagrams, Inbox, Outcome, Protocol, drained
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.queues.values import rejected, too_large
from rocketconnect_sdk.record import Rejected

_PART = 64 << 10
_WAIT_SECONDS = 0.02
_TOLD_SECONDS = 60.0
_OPENED = b"200 OK\nrelp_version=0\nrelp_software=rocketconnect\ncommands=syslog"


@dataclass(frozen=True, slots=True)
class Reading:
    """What messages become.

    Attributes:
        zone: Of times that say none.
        encoding: Of the bytes.
        replace: Bytes that are not of it become U+FFFD; otherwise the message is a Rejected.
        fields: A message becomes its fields; otherwise its text.
        key: The field that is the key; empty: there is none.
    """

    zone: ZoneInfo
    encoding: str = "utf-8"
    replace: bool = False
    fields: bool = True
    key: str = ""

    def records(self, frames: Sequence[Frame], client: str) -> list[Received]:
        """The records of messages from an address."""
        now = datetime.now(self.zone)
        return [self._record(frame, {"syslog.client": client}, now) for frame in frames]

    def _record(self, frame: Frame, headers: dict[str, str], now: datetime) -> Received:
        now_ms = int(now.timestamp() * 1000)
        if isinstance(frame, Rejected):
            return Received(None, frame, None, now_ms, headers, size=len(frame.original))
        # Templates of senders end with a newline, also where the length is told.
        frame = frame.rstrip(b"\r\n\0")
        try:
            text = frame.decode(self.encoding, "replace" if self.replace else "strict")
            message = read_syslog(text, now, strict=False)
        except UnicodeDecodeError as error:
            value = rejected(frame, "InvalidText", f"it is not {self.encoding} at byte {error.start}; see encoding.errors")
            return Received(None, value, None, now_ms, headers, size=len(frame))
        except Unfit as error:
            return Received(None, rejected(frame, error.kind, str(error)), None, now_ms, headers, size=len(frame))
        key = message.fields.get(self.key) if self.key else None
        time_ms = now_ms if message.time_ms is None else max(0, message.time_ms)
        return Received(None, message.fields if self.fields else text, key, time_ms, headers, size=len(frame))


class Streams(Protocol):
    """Messages over TCP. Nobody is told of any: a client is not read on before the topic has what has come from it.

    Args:
        reading: What they become.
        most_bytes: Of a message.
        framing: See Frames.
    """

    def __init__(self, reading: Reading, most_bytes: int, framing: str) -> None:
        self._reading, self._most_bytes, self._framing = reading, most_bytes, framing

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inbox: Inbox) -> None:
        """See Protocol."""
        client, frames = client_of(writer), Frames(self._most_bytes, self._framing)
        while data := await reader.read(_PART):
            await self._hand_over(frames.feed(data), client, inbox)
        await self._hand_over(frames.end(), client, inbox)

    async def _hand_over(self, frames: Sequence[Frame], client: str, inbox: Inbox) -> None:
        # Who has sent it does not have it any more, so it is tried again until the task ends.
        while frames:
            if await hand_over(self._reading.records(frames, client), inbox) is Outcome.STORED:
                return
            await asyncio.sleep(_WAIT_SECONDS)


class Relp(Protocol):
    """Messages over RELP: each is answered when the topic has it.

    https://github.com/rsyslog/librelp/blob/master/doc/relp.html

    Args:
        reading: What they become.
        most_bytes: Of a message.
    """

    def __init__(self, reading: Reading, most_bytes: int) -> None:
        self._reading, self._most_bytes = reading, most_bytes

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inbox: Inbox) -> None:
        """See Protocol."""
        client, commands = client_of(writer), Commands(self._most_bytes)
        while data := await reader.read(_PART):
            found = commands.feed(data)
            messages = [each.data for each in found if each.name == "syslog" and each.data]
            if messages and await hand_over(self._reading.records(messages, client), inbox) is not Outcome.STORED:
                # It is sent again over the next connection.
                return
            for each in found:
                writer.write(_answer(each))
                if each.name == "close":
                    writer.write(b"0 serverclose 0\n")
                    await drained(writer)
                    return
            await drained(writer)


class Packets(Datagrams):
    """Messages in datagrams. What finds no room is lost, and told in the log.

    Args:
        reading: What they become.
        most_bytes: Of a message.
        log: Where losses are told.
    """

    def __init__(self, reading: Reading, most_bytes: int, log: Logger) -> None:
        self._reading, self._most_bytes, self._log = reading, most_bytes, log
        self._lost = 0
        self._told = 0.0

    async def take(self, data: bytes, client: str, inbox: Inbox) -> None:
        """See Datagrams."""
        frame: Frame = data.rstrip(b"\r\n\0")
        if len(data) > self._most_bytes:
            frame = rejected(data, *too_large(len(data), self._most_bytes))
        if frame and await hand_over(self._reading.records([frame], client), inbox, waits=False) is not Outcome.STORED:
            self._lost += 1
            if time.monotonic() - self._told > _TOLD_SECONDS:
                said = "%d datagrams could not be taken since the start, and may be lost: too much is waiting, or the task ends"
                self._log.warning(said, self._lost)
                self._told = time.monotonic()


async def hand_over(records: Sequence[Received], inbox: Inbox, *, waits: bool = True) -> Outcome:
    """Hands records over when there is room for them; without `waits` it does not wait for that."""
    size = sum(each.size for each in records)
    while not inbox.reserve(size):
        if not waits:
            return Outcome.BUSY
        await asyncio.sleep(_WAIT_SECONDS)
    try:
        while True:
            outcome = await inbox.deliver(records)
            if outcome is not Outcome.BUSY or not waits:
                return outcome
            await asyncio.sleep(_WAIT_SECONDS)
    finally:
        inbox.release(size)


def client_of(writer: asyncio.StreamWriter) -> str:
    """The address of who is connected."""
    peer = writer.get_extra_info("peername")
    return str(peer[0]) if peer else ""


def _answer(command: Command) -> bytes:
    if command.name == "close":
        return b"%d rsp 0\n" % command.number
    said = {"open": _OPENED, "syslog": b"200 OK"}.get(command.name, b"500 no such command")
    return b"%d rsp %d %b\n" % (command.number, len(said), said)
