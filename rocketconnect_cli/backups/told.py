"""What becomes of each connector when a backup is restored, in words. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketconnect_sdk.wording.counts import counted

Rows = Iterable[Mapping[str, Any]]

_OWN = "~"
"""What tasks keep for themselves."""
_SHOWN = 3
"""So many places are shown of each connector."""
_EXACTLY_ONCE, _IDEMPOTENT, _AT_LEAST_ONCE = "EXACTLY_ONCE", "IDEMPOTENT", "AT_LEAST_ONCE"


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one connector.

    Attributes:
        connector: Its name.
        type: source, sink or direct.
        delivery: What its plugin says that it gives: EXACTLY_ONCE, IDEMPOTENT, AT_LEAST_ONCE; empty: nobody has said.
        doubles: Whether a target, or who else reads a topic, may get something twice.
        text: The same in words.
        places: Where it goes on, by source partition or queue, as far as it has a place.
    """

    connector: str
    type: str
    delivery: str
    doubles: bool
    text: str
    places: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "connector": self.connector,
            "type": self.type,
            "delivery": self.delivery,
            "doubles": self.doubles,
            "text": self.text,
            "places": dict(self.places),
        }


def fates(then: Mapping[str, Rows], now: Mapping[str, Rows]) -> list[Fate]:
    """Return what becomes of each connector of a backup, and of those that are there now and not in it.

    Args:
        then: Rows of the backup by table: config_connectors, config_workers, position_positions; absent: that store is not in it.
        now: The same of the stores that are there, without config_workers; absent: there are none.
    """
    told = _Told(then, now)
    found = [told.fate(row) for row in sorted(told.connectors.values(), key=lambda row: str(row["name"]))]
    return found + [_gone(row) for row in sorted(told.lost, key=lambda row: str(row["name"]))]


class _Told:
    def __init__(self, then: Mapping[str, Rows], now: Mapping[str, Rows]) -> None:
        kept, there = _living(then.get("config_connectors", ())), _living(now.get("config_connectors", ()))
        # Where the configurations stay as they are, positions alone go back.
        self.connectors = kept if "config_connectors" in then else there
        self.lost = [row for uid, row in there.items() if uid not in kept] if "config_connectors" in then else []
        self._returns = set(kept) - set(there) if "config_connectors" in now else set()
        self._moves = "position_positions" in then
        self._then, self._now = _positions(then.get("position_positions", ())), _positions(now.get("position_positions", ()))
        self._plugins = dict(_plugins(then.get("config_workers", ())))

    def fate(self, row: Mapping[str, Any]) -> Fate:
        uid, config = str(row["uid"]), json.loads(row["config"])
        kind, delivery = str(row["type"]).lower(), self._delivery(config)
        places = self._then.get(uid, {}) if self._moves else self._now.get(uid, {})
        first = "it was deleted since, and is there again; " if uid in self._returns else ""
        if row["wanted_state"] != "RUNNING":
            first += f"it is {row['wanted_state']}, so nothing before it is resumed; then: "
        if not self._moves:
            doubles, text = False, "its positions stay as they are"
        else:
            doubles, text = self._source(places, delivery) if kind == "source" else self._sink(uid, places, delivery)
        return Fate(str(row["name"]), kind, delivery, doubles, first + text, places)

    def _source(self, places: Mapping[str, str], delivery: str) -> tuple[bool, str]:
        if delivery != _EXACTLY_ONCE:
            again = "what it has read since is read again, and may be sent again"
        else:
            again = (
                "what it has sent since is not sent again where its topic tells of it, else sinks drop it, and others see it twice"
            )
        return True, f"{_on(places, 'begins anew')}; {again}"

    def _sink(self, uid: str, places: Mapping[str, str], delivery: str) -> tuple[bool, str]:
        if delivery == _EXACTLY_ONCE:
            there = "its target keeps where it is, and it goes on there; in a target that is put back as well, where that was"
            return False, f"nothing is written twice: {there}"
        since = f"what it has written since{self._since(uid, places)}"
        if delivery == _IDEMPOTENT:
            return False, f"{_on(places, 'reads all')}; {since} is written over with the same"
        known = "" if delivery else "what it does with what is there is not known, so count on this: "
        return True, f"{known}{_on(places, 'reads all')}; {since} is there twice"

    def _since(self, uid: str, places: Mapping[str, str]) -> str:
        """How much that is, where both positions are known."""
        now = self._now.get(uid, {})
        if not now:
            return ""
        moved = sum(max(_last(now[name]) - _last(places.get(name, "[0]")), 0) for name in now)
        return f" ({counted(moved, 'message')})"

    def _delivery(self, config: Mapping[str, str]) -> str:
        prefix = "sink." if config.get("connector.class") == "direct" else ""
        given = self._plugins.get(config.get(f"{prefix}connector.class", ""), "")
        # Where a sink can give less than its best, this option says so.
        return _AT_LEAST_ONCE if config.get(f"{prefix}delivery") == "at_least_once" else given


def _gone(row: Mapping[str, Any]) -> Fate:
    text = "it was created since, and will be gone: its configuration and its positions; its topics and targets stay as they are"
    return Fate(str(row["name"]), str(row["type"]).lower(), "", doubles=False, text=text, places={})


def _living(rows: Rows) -> dict[str, Mapping[str, Any]]:
    return {str(row["uid"]): row for row in rows if row["delete_time"] is None}


def _positions(rows: Rows) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if not str(row["partition"]).startswith(_OWN):
            found.setdefault(str(row["connector_uid"]), {})[str(row["partition"])] = str(row["offset"])
    return found


def _plugins(workers: Rows) -> Iterator[tuple[str, str]]:
    for worker in sorted(workers, key=lambda row: int(row["update_time"])):
        guarantees = {name: str(json.loads(text).get("guarantee", "")) for name, text in json.loads(worker["plugins"]).items()}
        yield from guarantees.items()
        yield from ((alias, guarantees.get(name, "")) for alias, name in json.loads(worker["aliases"]).items())


def _on(places: Mapping[str, str], without: str) -> str:
    if not places:
        return f"it has no position in the backup, so it {without}"
    shown = ", ".join(f"{name} {offset}" for name, offset in sorted(places.items())[:_SHOWN])
    more = f" and {counted(len(places) - _SHOWN, 'other')}" if len(places) > _SHOWN else ""
    return f"it goes on at {shown}{more}"


def _last(offset: str) -> int:
    try:
        return int(json.loads(offset)[-1])
    except (ValueError, TypeError, IndexError):
        return 0


def lines(found: Sequence[Fate]) -> list[str]:
    """For people: a line for each connector."""
    return [f"{fate.connector} ({fate.type}{', ' + fate.delivery if fate.delivery else ''}): {fate.text}" for fate in found]
