"""Dead letters that wait: nobody has replayed them or given them up, whenever they came."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from rocketconnect.state.v1 import state_service_pb2 as states

from services.exporter.gateway import Gateway, NotTold

_KEEPS_NONE = "NO_DEAD_LETTER_TOPIC"


@dataclass(frozen=True, slots=True)
class Letters:
    """Of one connector.

    Attributes:
        keeps: It has a topic for them.
        waiting: How many wait.
        oldest: When the oldest of these was stored, seconds since 1970; None: none waits.
        is_all: All were looked at; otherwise there may be more, and older ones.
    """

    keeps: bool
    waiting: int = 0
    oldest: float | None = None
    is_all: bool = True


def ask(gateway: Gateway, connector: str) -> Letters:
    """Return those of a connector. Raises NotTold: they are not known."""
    try:
        said = gateway.get(["connectors", connector, "deadLetters:count"], {})
    except NotTold as error:
        if error.reason == _KEEPS_NONE:
            return Letters(keeps=False)
        raise
    oldest = said.get("oldestTime")
    return Letters(
        keeps=True,
        waiting=int(said.get("unreplayed", 0)),
        oldest=datetime.fromisoformat(oldest).timestamp() if oldest else None,
        is_all=said.get("complete") is True,
    )


class Keepers:
    """Knows which connectors keep none, so that they are not asked again and again: their next revision may."""

    def __init__(self) -> None:
        self._without: dict[str, tuple[str, int]] = {}
        self._asked: Mapping[str, tuple[str, int]] = {}

    def among(self, said: Sequence[states.ConnectorState], known: Mapping[str, Letters]) -> Mapping[str, tuple[str, int]]:
        """Return the connectors that keep dead letters, or may, each with its uid and revision.

        Args:
            said: All connectors.
            known: What was told of some of those that were returned last.
        """
        revisions = {each.connector: (each.connector_uid, each.revision) for each in said}
        self._without |= {name: self._asked[name] for name, told in known.items() if not told.keeps and name in self._asked}
        self._without = {name: told for name, told in self._without.items() if revisions.get(name) == told}
        self._asked = {name: each for name, each in revisions.items() if name not in self._without}
        return self._asked


def shown(keepers: Iterable[str], known: Mapping[str, Letters]) -> Iterator[Metric]:
    """Yield them.

    Args:
        keepers: The connectors that keep some, or may.
        known: What was told of them.
    """
    waiting = GaugeMetricFamily(
        "rocketconnect_dead_letters_waiting",
        "Dead letters of the connector, and those in its topic that name none, that nobody has replayed or given up.",
        labels=["connector"],
    )
    oldest = GaugeMetricFamily(
        "rocketconnect_dead_letters_oldest_timestamp_seconds",
        "When the oldest dead letter that waits was stored; no sample while none waits.",
        labels=["connector"],
    )
    is_known = GaugeMetricFamily(
        "rocketconnect_dead_letters_known",
        "1: all of its dead letters were looked at; 0: nobody knows how many wait, or there may be more than it says.",
        labels=["connector"],
    )
    for connector in keepers:
        letters = known.get(connector)
        is_known.add_metric([connector], letters is not None and letters.is_all)
        if letters is not None:
            waiting.add_metric([connector], letters.waiting)
            if letters.oldest is not None:
                oldest.add_metric([connector], letters.oldest)
    yield from (waiting, oldest, is_known)
