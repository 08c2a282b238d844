"""What the config service says of connectors, by name; kept by following its watch."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.errors import FailedPrecondition, NotFound, Unavailable

SETTLE_SECONDS = 1.0
"""How long to wait for a change that the caller may have made just before: replicas of config tell it within half a second."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A living connector: its uid, whether it is wanted STOPPED, its configuration, its type without prefix."""

    uid: str
    stopped: bool
    config: Mapping[str, str] = field(default_factory=dict)
    type: str = ""

    @property
    def source(self) -> bool:
        """Whether its positions are those of a source."""
        return self.type in {"SOURCE", "DIRECT"}

    @property
    def direct(self) -> bool:
        """Whether it is a source and a sink in one."""
        return self.type == "DIRECT"


class Directory:
    """Living connectors by name. To be used in one event loop.

    Raises, in all methods that find: Unavailable (CONFIG_UNAVAILABLE) while nothing sure is known, NotFound.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}
        self._known = False
        self._changed = asyncio.Event()

    def apply(self, message: pb.WatchConnectorsResponse) -> None:
        """Take a message of the watch."""
        if message.snapshot:
            self._names, self._entries, self._known = {}, {}, True
        for connector in message.connectors:
            self._names[connector.uid] = connector.name
            stopped = connector.wanted_state == connector_pb2.WANTED_STATE_STOPPED
            kind = connector_pb2.ConnectorType.Name(connector.type).removeprefix("CONNECTOR_TYPE_")
            self._entries[connector.name] = Entry(connector.uid, stopped, dict(connector.config), kind)
        for uid in message.deleted_uids:
            name = self._names.pop(uid, "")
            # The name may live on under another uid.
            if name in self._entries and self._entries[name].uid == uid:
                del self._entries[name]
        self._changed.set()
        self._changed = asyncio.Event()

    async def find(self, name: str, *, connected: bool) -> Entry:
        """Return a connector, as far as is known when the config service is away (`connected` false).

        Raises:
            Unavailable: CONFIG_UNAVAILABLE when it is not known and can't be asked for.
            NotFound: CONNECTOR_NOT_FOUND.
        """
        entry = self._entries.get(name)
        if entry is None and connected:
            entry = await self._settled(name, stopped=False)
        if entry is not None:
            return entry
        if not connected or not self._known:
            raise unavailable()
        message = f"there is no connector {name[:128]!r}; list the connectors to see their names"
        raise NotFound("CONNECTOR_NOT_FOUND", message, connector=name[:128])

    async def find_stopped(self, name: str, *, connected: bool) -> Entry:
        """Return a connector that is wanted STOPPED for sure.

        Raises:
            Unavailable: CONFIG_UNAVAILABLE when it is not known for sure.
            NotFound: CONNECTOR_NOT_FOUND.
            FailedPrecondition: NOT_STOPPED.
        """
        if not connected:
            raise unavailable()
        found = await self.find(name, connected=True)
        entry = await self._settled(name, stopped=True)
        if entry is None or entry.uid != found.uid:
            message = f"connector {name!r} is not wanted STOPPED; stop it first, then move its positions (or use --restart)"
            raise FailedPrecondition("NOT_STOPPED", message, connector=name)
        return entry

    async def _settled(self, name: str, *, stopped: bool) -> Entry | None:
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while True:
                    changed = self._changed
                    entry = self._entries.get(name)
                    if entry is not None and entry.stopped >= stopped:
                        return entry
                    await changed.wait()
        except TimeoutError:
            return None


def unavailable() -> Unavailable:
    """Return the error of a question that only the config service can answer."""
    message = (
        "the config service does not answer, so names and wanted states are not known for sure; start it, or give its address "
        "as --config-address (ROCKETCONNECT_CONFIG_ADDRESS), and try again"
    )
    return Unavailable("CONFIG_UNAVAILABLE", message)
