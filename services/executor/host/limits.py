"""Takes from this process what connectors may have, before it answers somebody who may only read."""

import os

from rocketconnect_sdk.permissions.connections import narrow
from services.executor.environment import of_readers


def limit_to_readers(hosts: str) -> None:
    """From now on and for good: no secrets, no files, and no hosts but these; see permissions.hosts for the text."""
    left = of_readers(os.environ, hosts)
    os.environ.clear()
    os.environ.update(left)
    narrow(hosts)
