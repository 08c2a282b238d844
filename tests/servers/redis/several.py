"""Several servers of Valkey or Redis: a cluster of three masters with a replica each, and a master with Sentinels."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tests import free_ports
from tests.server_process import ServerFailed
from tests.servers.redis import Redis

_LIMIT = 120.0
_MASTERS = 3
NAME = "main"


class RedisCluster:
    """A cluster. Its first three servers are masters at first."""

    def __init__(self, program: str = "valkey") -> None:
        given = (
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "2000",
            "--databases",
            "1",
            "--cluster-config-file",
            "nodes.conf",
        )
        self.servers = [_Node(program, given) for _ in range(2 * _MASTERS)]

    @property
    def url(self) -> str:
        """Of some of its nodes."""
        return f"redis+cluster://127.0.0.1:{self.servers[0].port},127.0.0.1:{self.servers[1].port}"

    @contextmanager
    def running(self) -> Iterator["RedisCluster"]:
        """Starts all of them, and lets them know each other."""
        with ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server.running())
            self._join()
            yield self

    def client(self) -> Any:
        """A client for what tests look at."""
        import redis

        return redis.RedisCluster(host="127.0.0.1", port=self.servers[-1].port, decode_responses=True)

    def move(self, key: str) -> None:
        """Gives the slot of a key, with all that it has, to another master."""
        clients = {server.client.execute_command("CLUSTER", "MYID"): server.client for server in self.servers}
        masters = {name: each for name, each in clients.items() if each.info("replication")["role"] == "master"}
        slot = next(iter(masters.values())).execute_command("CLUSTER", "KEYSLOT", key)
        owner = next(name for name, each in masters.items() if each.execute_command("CLUSTER", "COUNTKEYSINSLOT", slot))
        other = next(name for name in masters if name != owner)
        masters[other].execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", owner)
        masters[owner].execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", other)
        port = masters[other].connection_pool.connection_kwargs["port"]
        for each in masters[owner].execute_command("CLUSTER", "GETKEYSINSLOT", slot, 1_000):
            masters[owner].execute_command("MIGRATE", "127.0.0.1", port, each, 0, 10_000)
        for each in (masters[other], masters[owner], *masters.values()):
            each.execute_command("CLUSTER", "SETSLOT", slot, "NODE", other)

    def _join(self) -> None:
        first, *others = [server.client for server in self.servers]
        for server in self.servers[1:]:
            first.execute_command("CLUSTER", "MEET", "127.0.0.1", server.port, server.bus)
        wait_for(lambda: all(len(_nodes(each)) == 2 * _MASTERS for each in (first, *others)), "all nodes")
        share = (1 << 14) // _MASTERS
        ids = [server.client.execute_command("CLUSTER", "MYID") for server in self.servers]
        for number in range(_MASTERS):
            end = (1 << 14) - 1 if number == _MASTERS - 1 else (number + 1) * share - 1
            self.servers[number].client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * share, end)
        for number in range(_MASTERS):
            replica = self.servers[_MASTERS + number].client
            wait_for(lambda: ids[number] in str(_nodes(replica)), "a master")  # noqa: B023 - it is done before the next one
            replica.execute_command("CLUSTER", "REPLICATE", ids[number])
        wait_for(lambda: all(_is_whole(server.client) for server in self.servers), "the cluster")


class _Node(Redis):
    """A node, whose port for other nodes is a free one, too."""

    def __init__(self, program: str, given: Sequence[str]) -> None:
        self.bus = free_ports.choose()
        super().__init__(program, (*given, "--cluster-port", str(self.bus)))


class _Sentinel(Redis):
    title = "Sentinel"

    def __init__(self, program: str, port: int) -> None:
        super().__init__(program)
        self._master = port

    def command(self) -> Sequence[str]:
        """See Server."""
        setpriv, pdeathsig, kill, program, *_ = super().command()
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"sentinel monitor {NAME} 127.0.0.1 {self._master} 2",
            f"sentinel down-after-milliseconds {NAME} 1000",
            f"sentinel failover-timeout {NAME} 5000",
        ]
        (self.folder / "sentinel.conf").write_text("\n".join(lines) + "\n")
        return [setpriv, pdeathsig, kill, program, str(self.folder / "sentinel.conf"), "--sentinel"]


class RedisSentinel:
    """A master, a replica, and three Sentinels."""

    def __init__(self, program: str = "valkey", given: Sequence[str] = ()) -> None:
        self.servers = [Redis(program, given) for _ in range(2)]
        self.sentinels = [_Sentinel(program, self.servers[0].port) for _ in range(3)]

    @property
    def url(self) -> str:
        """By its Sentinels."""
        return f"redis+sentinel://{','.join(f'127.0.0.1:{each.port}' for each in self.sentinels)}/{NAME}"

    @contextmanager
    def running(self) -> Iterator["RedisSentinel"]:
        """Starts all of them, and lets them know each other."""
        with ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server.running())
            self.servers[1].client.replicaof("127.0.0.1", self.servers[0].port)
            wait_for(lambda: self.servers[1].client.info("replication")["master_link_status"] == "up", "the replica")
            for sentinel in self.sentinels:
                stack.enter_context(sentinel.running())
            wait_for(self._is_known, "the Sentinels")
            yield self

    def _is_known(self) -> bool:
        found = [sentinel.client.execute_command("SENTINEL", "MASTER", NAME) for sentinel in self.sentinels]
        return all(int(each["num-slaves"]) == 1 and int(each["num-other-sentinels"]) == len(found) - 1 for each in found)


def wait_for(done: Callable[[], object], what: str) -> None:
    """Waits for something that tests have started.

    Raises:
        ServerFailed: it did not come.
    """
    end = time.monotonic() + _LIMIT
    while not done():
        if time.monotonic() > end:
            msg = f"{what} did not come within {_LIMIT} s"
            raise ServerFailed(msg)
        time.sleep(0.05)


def _nodes(client: Any) -> list[str]:
    return str(client.execute_command("CLUSTER", "NODES")).splitlines()


def _is_whole(client: Any) -> bool:
    replicas = [line for line in _nodes(client) if "slave" in line]
    return "cluster_state:ok" in client.execute_command("CLUSTER", "INFO") and len(replicas) == _MASTERS
