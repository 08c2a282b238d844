"""A consumer of a group: takes entries of streams, and acknowledges them.

https://redis.io/docs/latest/commands/xreadgroup/
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from redis.exceptions import RedisError, ResponseError

from connectors.redis.client import client_of, own_errors
from connectors.redis.entries import EntryForm, name_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.queues import Received, Share, Subscription
from rocketconnect_sdk.resume import JSON

_RAW = ("XREAD", "XREADGROUP", "XAUTOCLAIM", "XCLAIM")
_MOST = 200
"""So many entries are asked for together."""
_BEGIN = b"0-0"
_PINGS = 3
_LONGEST_PING = 30.0


class GroupSubscription(Subscription):
    """One consumer of a group, which has the name of its task.

    What it had and has not acknowledged comes first, then what is new, and now and then what other consumers have left behind.
    A preview reads without the group, and takes nothing from it.
    """

    def __init__(self, config: Config, share: Share, context: TaskContext) -> None:
        self._client: Any = client_of(config)
        for command in _RAW:
            self._client.response_callbacks.pop(command, None)
        self._place: str = config["url"]
        self._group: str = config["group"]
        self._consumer = share.identity
        self._keys = [name.encode() for name in config["streams"]]
        self._form = EntryForm(config["value.field"], config["key.field"], config["fields"])
        self._claim_ms = round(config["claim.idle"] * 1000)
        self._share = share
        self._context = context
        self._before: dict[bytes, bytes] = dict.fromkeys(self._keys, _BEGIN)
        """Streams of which what this consumer had is not read, and how far it is."""
        self._held: deque[Received] = deque()
        self._out: set[tuple[bytes, bytes]] = set()
        self._next_claim = 0.0
        self.ping_seconds = min(_LONGEST_PING, config["claim.idle"] / _PINGS) if self._claim_ms else _LONGEST_PING
        try:
            if not share.passing and not share.leaving:
                self._join(config["group.start"])
        except BaseException:
            self.close()
            raise

    @property
    def state(self) -> Mapping[str, JSON]:
        """What the group is, and of which streams."""
        return {"group": self._group, "streams": list(map(name_of, self._keys))}

    def receive(self, limit: int, size: int, seconds: float) -> Sequence[Received]:
        """See Subscription."""
        if not self._held:
            with self._errors():
                self._take(limit, seconds)
        found: list[Received] = []
        while self._held and len(found) < limit and size > 0:
            found.append(self._held.popleft())
            size -= found[-1].size
        return found

    def ack(self, tags: Sequence[Any]) -> None:
        """See Subscription."""
        with self._errors(), self._client.pipeline(transaction=False) as pipe:
            for key, ids in _by_key(tags):
                pipe.execute_command("XACK", key, self._group, *ids)
            pipe.execute()
        self._out.difference_update(tags)

    def ping(self, tags: Sequence[Any]) -> None:
        """Other consumers take nothing that is on its way here. See Subscription."""
        with self._errors(), self._client.pipeline(transaction=False) as pipe:
            for key, ids in _by_key(tags):
                pipe.execute_command("XCLAIM", key, self._group, self._consumer, 0, *ids, "JUSTID")
            pipe.ping()
            pipe.execute()

    def close(self) -> None:
        """See Subscription."""
        with suppress(RedisError, OSError):
            self._client.close()

    def _join(self, start: str) -> None:
        known = self._share.before.get("streams") if self._share.before.get("group") == self._group else None
        with self._errors():
            for key in self._keys:
                was_there = isinstance(known, list) and name_of(key) in known
                try:
                    # What is read twice is better than what is never read.
                    begin = "0" if was_there or start == "earliest" else "$"
                    self._client.execute_command("XGROUP CREATE", key, self._group, begin, "MKSTREAM")
                except ResponseError as error:
                    if "BUSYGROUP" not in str(error):
                        raise
                else:
                    if was_there:
                        msg = "%s: the group %s was not there any more, and is made anew: all that the stream has is read again"
                        self._context.log.warning(msg, name_of(key), self._group)

    def _take(self, limit: int, seconds: float) -> None:
        """Something of what there is, in this order: what it had, what others left behind, what is new."""
        count = max(1, min(limit, _MOST) // len(self._keys))
        if self._share.passing:
            self._take_plain(count, seconds)
            return
        while self._before and not self._held:
            found = self._asked(count, 0, self._before)
            for key in list(self._before):
                if entries := found.get(key, []):
                    self._before[key] = entries[-1][0]
                    self._hold(key, entries, again=True)
                else:
                    del self._before[key]
        if self._held or self._share.leaving:
            return
        if self._claim_ms and time.monotonic() >= self._next_claim:
            self._claim(count)
        if not self._held:
            for key, entries in self._asked(count, seconds, dict.fromkeys(self._keys, b">")).items():
                self._hold(key, entries, again=False)

    def _asked(self, count: int, seconds: float, places: Mapping[bytes, bytes]) -> Mapping[bytes, Any]:
        block = ("BLOCK", max(1, round(seconds * 1000))) if seconds else ()
        who = ("GROUP", self._group, self._consumer)
        command = ("XREADGROUP", *who, "COUNT", count, *block, "STREAMS", *places, *places.values())
        try:
            return self._client.execute_command(*command) or {}
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            if self._share.leaving:
                return {}
            msg = f"{self._place}: the group {self._group} is not there any more"
            raise SystemAway(msg) from error

    def _claim(self, count: int) -> None:
        """What others had for too long. There may be more of it: then the next time is now."""
        self._next_claim = time.monotonic() + self._claim_ms / 1000 / _PINGS
        for key in self._keys:
            claim = ("XAUTOCLAIM", key, self._group, self._consumer, self._claim_ms, "0", "COUNT", count)
            _, entries, *gone = self._client.execute_command(*claim)
            if gone and gone[0]:
                self._tell_gone(key, len(gone[0]))
            new = [each for each in entries if (key, each[0]) not in self._out]
            self._hold(key, new, again=True)
            if new:
                self._next_claim = 0.0

    def _take_plain(self, count: int, seconds: float) -> None:
        block = ("BLOCK", max(1, round(seconds * 1000))) if seconds else ()
        command = ("XREAD", "COUNT", count, *block, "STREAMS", *self._before, *self._before.values())
        for key, entries in (self._client.execute_command(*command) or {}).items():
            self._before[key] = entries[-1][0]
            self._held.extend(self._received(key, entries, again=False))

    def _hold(self, key: bytes, entries: Sequence[Any], *, again: bool) -> None:
        if gone := [entry_id for entry_id, fields in entries if fields is None]:
            # It was trimmed or deleted behind this consumer's back.
            self._tell_gone(key, len(gone))
            self._client.execute_command("XACK", key, self._group, *gone)
        for each in self._received(key, [each for each in entries if each[1] is not None], again=again):
            self._out.add(each.tag)
            self._held.append(each)

    def _tell_gone(self, key: bytes, count: int) -> None:
        msg = "%s: %d entries that the group %s had given were removed (XTRIM, MAXLEN, XDEL) before they were read"
        self._context.log.warning(msg, name_of(key), count, self._group)

    def _received(self, key: bytes, entries: Sequence[Any], *, again: bool) -> list[Received]:
        made = self._form.entries(name_of(key), "", entries)
        columns = zip(entries, made.values, made.keys, made.timestamps_ms, made.headers, strict=True)
        return [
            Received(
                tag=(key, entry_id),
                value=value,
                key=own,
                timestamp_ms=time_ms,
                headers={name: (text or b"").decode() for name, text in headers},
                redelivered=again,
                size=self._form.size(value, fields),
            )
            for (entry_id, fields), value, own, time_ms, headers in columns
        ]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with own_errors(self._place):
            try:
                yield
            except ResponseError as error:
                if not str(error).startswith("WRONGTYPE"):
                    raise
                msg = f"{self._place}: one of {', '.join(map(name_of, self._keys))} holds no stream. Correct `streams`"
                raise PermanentError(msg) from error


def retire(config: Config, consumer: str) -> None:
    """Removes a consumer that has nothing any more. What it has others can take over while it is there: then it stays."""
    with own_errors(config["url"]), client_of(config) as made:
        client: Any = made
        for key in config["streams"]:
            with suppress(ResponseError):
                mine = [each for each in client.xinfo_consumers(key, config["group"]) if each["name"] == consumer.encode()]
                if mine and not mine[0]["pending"]:
                    client.xgroup_delconsumer(key, config["group"], consumer)


def _by_key(tags: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, list[bytes]]]:
    found: dict[bytes, list[bytes]] = {}
    for key, entry_id in tags:
        found.setdefault(key, []).append(entry_id)
    return found.items()
