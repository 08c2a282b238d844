"""One client of RocketMQ for all requests of a service, from the first one on."""

import threading
from collections.abc import Callable

from rocketmq_remoting.client import Client


class SharedClient:
    """Opens a client when it is first asked for. `get` may be called in any thread.

    Args:
        connect: Opens it; called once, unless it fails.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._connecting = threading.Lock()
        self._client: Client | None = None

    def get(self) -> Client:
        """The client; raises what connecting raises, and connects anew the next time."""
        # Two first requests must not open two, of which one is never closed.
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def close(self) -> None:
        """End what is under way; nobody may ask for it any more."""
        if self._client is not None:
            self._client.close()
