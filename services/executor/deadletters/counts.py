"""How many dead letters wait: counted again only when something was written to their topic."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from rocketconnect_sdk.letters.dead_letters import Spans
from services.executor.deadletters.box import Box
from services.executor.deadletters.choice import Waiting

_TOPICS = 1_000
"""Of so many topics it is kept (invariant 7)."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a topic with these ends had, as far as could be seen in so many seconds."""

    ends: Spans
    found: Mapping[str, Waiting]
    is_all: bool
    seconds: float


class Counts:
    """What was counted, by topic. For several threads.

    Letters, editions of them, and notes of what was replayed or given up are all messages of that topic: while it has the same
    messages, the same letters wait. To ask for its ends is cheap, to read it is not. What is too much to be seen in time is looked
    at again by who has twice the time alone.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Counted] = OrderedDict()
        self._lock = Lock()

    def of(self, topic: str, box: Box, connector: str) -> tuple[Waiting, bool]:
        """Return the letters of a connector that wait, with those that name none; and whether all were looked at.

        Args:
            topic: The topic.
            box: Its letters.
            connector: The name.
        """
        ends, seconds = box.ends(), box.seconds_left
        with self._lock:
            kept = self._kept.get(topic)
        if kept is None or kept.ends != ends or not (kept.is_all or seconds < 2 * kept.seconds):
            kept = _Counted(ends, *box.unreplayed(), seconds)
            with self._lock:
                self._kept.pop(topic, None)
                self._kept[topic] = kept
                while len(self._kept) > _TOPICS:
                    self._kept.popitem(last=False)
        return _together(kept.found, connector), kept.is_all


def _together(found: Mapping[str, Waiting], connector: str) -> Waiting:
    both = [found[name] for name in ("", connector) if name in found]
    return Waiting(sum(each.count for each in both), min((each.oldest_ms for each in both), default=0))
