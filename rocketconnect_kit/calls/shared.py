"""One blocking channel to a service for all in a process that ask it.

A channel has a connection to each replica, with pings of its own: with one for each of many tasks a server would soon hold as many
as it takes.
"""

import threading
from dataclasses import dataclass
from pathlib import Path

import grpc

from rocketconnect_kit.calls.channel import sync_channel
from rocketconnect_kit.settings import ServiceSettings


@dataclass(frozen=True, slots=True)
class _Kind:
    """What channels have in common that can be one: files that were renewed make another one."""

    address: str
    service: str
    token_file: Path | None
    secured_by: tuple[bytes | None, ...]


@dataclass(slots=True)
class _Held:
    channel: grpc.Channel
    users: int = 0


class SharedChannels:
    """The channels that somebody uses now. For many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[_Kind, _Held] = {}

    def use(self, address: str, settings: ServiceSettings, service: str) -> "Use":
        """Return a share of the channel to a service, see `sync_channel`; close it.

        Raises:
            ValueError: when the address is wrong or empty.
            OSError: when a file of TLS can't be read.
        """
        files = (settings.tls_ca, settings.tls_cert, settings.tls_key)
        secured_by = tuple(None if file is None else file.read_bytes() for file in files)
        kind = _Kind(address, service, settings.token_file, secured_by)
        with self._lock:
            held = self._held.get(kind)
            if held is None:
                held = self._held[kind] = _Held(sync_channel(address, settings, service=service))
            held.users += 1
        return Use(self, kind, held.channel)

    def leave(self, kind: _Kind) -> None:
        """One user less: the last one closes the channel."""
        with self._lock:
            held = self._held[kind]
            held.users -= 1
            if held.users:
                return
            del self._held[kind]
        held.channel.close()


class Use:
    """A share of a channel, for one thread.

    Attributes:
        channel: Others use it as well.
    """

    def __init__(self, shared: SharedChannels, kind: _Kind, channel: grpc.Channel) -> None:
        self.channel = channel
        self._shared = shared
        self._kind: _Kind | None = kind

    def close(self) -> None:
        """Use it no longer; once, or again without effect."""
        kind, self._kind = self._kind, None
        if kind is not None:
            self._shared.leave(kind)


OF_THIS_PROCESS = SharedChannels()
"""Those that tasks share."""
