"""Questions that any one of several servers can answer, such as the executors: asked in turn until one does."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import grpc.aio

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import DeadlineExceeded, ServiceError, Unavailable
from rocketconnect_kit.settings import ServiceSettings

T = TypeVar("T")

_MAXIMUM_CHANNELS = 64
_TOLD = 5


@dataclass(frozen=True, slots=True)
class Peer:
    """One of those that can be asked: its id, and "host:port"."""

    id: str
    address: str


class NobodyAnswers(Exception):
    """None of the peers could answer; the message tells what the first of them said, and how many more there are."""


class Channels:
    """Channels to the last few executors that were asked, which are shown no token. For one event loop."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def to(self, address: str) -> grpc.aio.Channel:
        """Return the channel to an address; it tries each call once, since the next peer is the retry."""
        opened = self._channels.pop(address, None)
        if opened is None:
            opened = channel(address, self._settings, retry=False, signed=True)
        self._channels[address] = opened
        if len(self._channels) > _MAXIMUM_CHANNELS:
            await self._channels.pop(next(iter(self._channels))).close()
        return opened

    async def close(self) -> None:
        """Close all channels."""
        while self._channels:
            await self._channels.popitem()[1].close()


async def ask_in_turn(peers: Sequence[Peer], ask: Callable[[Peer], Awaitable[T]]) -> T:
    """Return what the first of the peers says that answers.

    Raises:
        NobodyAnswers: none of them does.
        ServiceError: what a peer answered, when asking the next one would change nothing.
    """
    silent = []
    for peer in peers:
        try:
            return await ask(peer)
        except ServiceError as error:
            if not _means_silence(error):
                raise
            silent.append(f"{peer.id} at {peer.address}: {error.message}")
    # An error travels in a header, which has room for some thousand characters.
    more = [f"and {len(silent) - _TOLD} more"] if len(silent) > _TOLD else []
    raise NobodyAnswers("; ".join([*silent[:_TOLD], *more]))


def _means_silence(error: ServiceError) -> bool:
    # A reason of its own (PLUGIN_TIMEOUT) is an answer to the question, and the next peer would say the same.
    return isinstance(error, Unavailable) or (isinstance(error, DeadlineExceeded) and error.reason == error.code)
