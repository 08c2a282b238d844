"""How many dead letters wait: counted again only when something was written to their topic."""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from rocketconnect_sdk.letters.dead_letters import Spans
from services.executor.deadletters.box import Box
from services.executor.deadletters.choice import Waiting

_TOPICS = 1_000
"""Of so many topics it is kept (invariant 7)."""


class Counts:
    """What was counted, by topic. For several threads.

    Letters, editions of them, and notes of what was replayed or given up are all messages of that topic: while it has the same
    messages, the same letters wait. To ask for its ends is cheap, to read it is not.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Spans, Mapping[str, Waiting]]] = OrderedDict()
        self._lock = Lock()

    def of(self, topic: str, box: Box, connector: str) -> tuple[Waiting, bool]:
        """Return the letters of a connector that wait, with those that name none; and whether all were looked at.

        Args:
            topic: The topic.
            box: Its letters.
            connector: The name.
        """
        ends = box.ends()
        with self._lock:
            kept = self._kept.get(topic)
        if kept is not None and kept[0] == ends:
            return _together(kept[1], connector), True
        found, is_all = box.unreplayed()
        with self._lock:
            self._kept.pop(topic, None)
            if is_all:
                self._kept[topic] = ends, found
            while len(self._kept) > _TOPICS:
                self._kept.popitem(last=False)
        return _together(found, connector), is_all


def _together(found: Mapping[str, Waiting], connector: str) -> Waiting:
    both = [found[name] for name in ("", connector) if name in found]
    return Waiting(sum(each.count for each in both), min((each.oldest_ms for each in both), default=0))
