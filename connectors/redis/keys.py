"""Reads the keys of a database by SCAN, each with what it holds."""

import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from connectors.redis.values import READS, holds, key_of, too_large, unknown, value_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

if TYPE_CHECKING:
    from connectors.redis.servers.cluster import Cluster

PARTITION = "keys"
_PAGE = 500
"""So many keys are looked at with each SCAN, about."""
_LARGEST = 8
"""A key is not read that takes so many times the memory of the largest record."""
_RAW = ("HGETALL", "SMEMBERS", "ZRANGE", "XRANGE", "SCAN")


class KeysTask(SourceTask):
    """Reads pages of keys. A position is the cursor of a page, with the server that gave it: another one knows nothing of it.

    Of a cluster the masters are read one after the other, in the order of their ids.
    """

    def __init__(self, config: Config, context: TaskContext) -> None:
        self._config = config
        self._context = context
        self._place: str = config["url"]
        self._every: float = config["scan.interval"]
        self._types = frozenset(config["types"] or ())
        self._most = _LARGEST * context.max_record_bytes
        self._client: Any = None
        self._cluster: Cluster | None = None
        self._nodes: list[str] = []
        self._node = ""
        self._left: deque[bytes] = deque()

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        from connectors.redis.client import own_errors

        self.close()
        self._own_errors = partial(own_errors, self._place)
        at = positions.get(PARTITION, Position((0, 0)))
        self._run, self._done = at.offset
        cursor, server, began, node = (at.resume.get(name) for name in ("cursor", "server", "began", "node"))
        self._connect()
        if isinstance(node, str) and node in self._nodes:
            self._turn_to(node)
        elif node:
            self._context.log.info("the cluster has other masters: all keys are read again")
            cursor = server = None
        self._cursor = cursor if isinstance(cursor, str) else "0"
        self._server = server if isinstance(server, str) else ""
        self._began = float(began) if isinstance(began, int | float) else 0.0
        self._next = self._cursor
        with self._own_errors():
            self._client.ping()

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        if self._client is None:
            msg = f"{self._place}: the connection is closed"
            raise SystemAway(msg)
        if self.finished or self._rests:
            return None
        with self._own_errors():
            if not self._left:
                self._scan()
            batch = self._read()
        if not self._left:
            self._cursor = self._next
            if self._cursor == "0":
                self._turn()
            if self._begins:
                self._run, self._done = self._run + 1, 0
                batch.end = (self._run, 0)
            batch.resume = self._resume
        return batch if len(batch) or batch.end else None

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        return 1.0 if self._rests else 0.001

    @property
    def finished(self) -> bool:
        """See SourceTask."""
        return not self._every and self._run > 0

    def close(self) -> None:
        """See SourceTask."""
        from redis.exceptions import RedisError

        client, self._client = self._client, None
        cluster, self._cluster = self._cluster, None
        self._left.clear()
        if cluster is not None:
            cluster.close()
        elif client is not None:
            with suppress(RedisError, OSError):
                client.close()

    @property
    def _rests(self) -> bool:
        """Until the next reading of all keys."""
        return self._begins and not self._left and self._run > 0 and time.time() < self._began + self._every

    @property
    def _resume(self) -> Mapping[str, Any]:
        of_node = {"node": self._node} if self._cluster is not None else {}
        return {"cursor": self._cursor, "server": self._server, "began": self._began, **of_node}

    @property
    def _begins(self) -> bool:
        """Whether the next page is the first of a reading."""
        return self._cursor == "0" and self._node == self._nodes[0]

    def _connect(self) -> None:
        from connectors.redis.client import client_of
        from connectors.redis.servers.addresses import Address
        from connectors.redis.servers.cluster import Cluster

        if Address.of(self._place).is_cluster:
            self._cluster = Cluster(self._config)
            self._nodes = sorted(self._cluster.nodes)
        else:
            self._nodes = [""]
            self._client = client_of(self._config)
        self._turn_to(self._nodes[0])

    def _turn_to(self, node: str) -> None:
        self._node = node
        if self._cluster is not None:
            self._client = self._cluster.nodes[node]
        for command in _RAW:
            self._client.response_callbacks.pop(command, None)

    def _turn(self) -> None:
        """Goes on with the next master; behind the last one with the first."""
        self._turn_to(self._nodes[(self._nodes.index(self._node) + 1) % len(self._nodes)])

    def _scan(self) -> None:
        """The keys of the next page."""
        if self._begins:
            self._began = time.time()
        with self._client.pipeline(transaction=True) as pipe:
            pipe.info("server")
            pipe.execute_command("SCAN", self._cursor, "MATCH", self._config["keys.pattern"], "COUNT", _PAGE)
            info, (cursor, keys) = pipe.execute()
        server = info["run_id"]
        if self._cursor != "0" and server != self._server:
            self._context.log.info("the server was started anew: all of its keys are read again")
            self._cursor = "0"
            self._server = server
            self._scan()
            return
        self._server = server
        self._next = cursor.decode()
        self._left.extend(dict.fromkeys(keys))

    def _read(self) -> SourceBatch:
        """What some of the keys of the page hold."""
        some = [self._left.popleft() for _ in range(min(len(self._left), self._context.batch_records))]
        with self._client.pipeline(transaction=False) as pipe:
            for key in some:
                pipe.execute_command("TYPE", key)
                pipe.execute_command("MEMORY USAGE", key)
            answers = iter(pipe.execute())
        known = [(key, kind.decode(), size or 0) for key, kind, size in zip(some, answers, answers, strict=False)]
        taken: list[tuple[bytes, str, int]] = []
        total = 0
        for key, kind, size in known:
            if taken and total >= self._context.batch_bytes:
                break
            taken.append((key, kind, size))
            total += size if size <= self._most else 0
        self._left.extendleft(reversed(some[len(taken) :]))
        return self._batch([each for each in taken if each[1] != "none" and (not self._types or each[1] in self._types)])

    def _batch(self, keys: list[tuple[bytes, str, int]]) -> SourceBatch:
        batch = SourceBatch(PARTITION, [], [], resume=self._resume)
        held = [(key, kind) for key, kind, size in keys if kind in READS and size <= self._most]
        with self._client.pipeline(transaction=False) as pipe:
            for key, kind in held:
                name, *more = READS[kind]
                pipe.execute_command("PTTL", key)
                pipe.execute_command(name, key, *more)
            answers = iter(pipe.execute(raise_on_error=False))
        found: dict[bytes, tuple[int, Any]] = {
            key: (ttl, answer) for (key, _), ttl, answer in zip(held, answers, answers, strict=False)
        }
        values: list[tuple[bytes, str, object]] = []
        for key, kind, size in keys:
            if kind not in READS:
                values.append((key, kind, unknown(key, kind)))
            elif key not in found:
                values.append((key, kind, too_large(key, kind, size, self._most)))
            else:
                ttl, answer = found[key]
                if isinstance(answer, Exception):
                    if str(answer).startswith("WRONGTYPE"):
                        # It holds something else by now.
                        self._left.append(key)
                        continue
                    raise answer
                if holds(kind, ttl, answer):
                    values.append((key, kind, value_of(key, kind, ttl, answer, self._config["encoding"])))
            batch.size += size
        return self._filled(batch, values)

    def _filled(self, batch: SourceBatch, values: list[tuple[bytes, str, object]]) -> SourceBatch:
        batch.values = [value for _, _, value in values]
        batch.offsets = [(self._run, self._done + number) for number in range(1, len(values) + 1)]
        batch.keys = [key_of(key, self._config["encoding"]) for key, _, _ in values]
        batch.headers = [{"redis.type": kind} for _, kind, _ in values]
        self._done += len(values)
        return batch
