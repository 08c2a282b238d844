"""How far sinks are behind of which a task does not say it: it has failed, starts, or nobody runs it."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_sdk.letters.dead_letters import REPLAY_TOPIC
from services.exporter.gateway import Gateway, NotTold
from services.exporter.series import UNDER_WAY

_TOPICS = 50
"""So many are asked for at once."""
_TOPICS_OPTIONS = ("topics", "connect.topicnames")
_AT_REST = {connectors.STATE_STOPPED, connectors.STATE_IDLE, connectors.STATE_PAUSED}

Lag = Mapping[str, int]
"""Messages by topic."""


def untold(said: Sequence[states.ConnectorState]) -> list[str]:
    """Return the sinks whose tasks do not tell all of it, though somebody wants them to run."""
    return [sink.connector for sink in said if _is_sink(sink) and not _tells(sink)]


def ask(gateway: Gateway, connector: str) -> Lag:
    """Return how far a sink is behind: its committed positions beside the ends of its topics, which an executor asks brokers for.

    Raises:
        NotTold: it is not known.
    """
    path = ["connectors", connector]
    config = gateway.get(path, {})["connector"].get("config", {})
    positions = {each["partition"]: each.get("offset", "") for each in gateway.pages([*path, "positions"], {}, "positions")}
    known = {partition.partition("/")[0] for partition in positions}
    read = {name.strip() for names in _TOPICS_OPTIONS for name in config.get(names, "").split(",")} - {""}
    if new := sorted(read - known):
        msg = f"it has no positions in {new[0]} yet"
        raise NotTold(msg)
    # It may have read others before.
    topics = sorted(read | {name for name in known if name.startswith(REPLAY_TOPIC)})
    found: dict[str, int] = {}
    for first in range(0, len(topics), _TOPICS):
        query = {"names": topics[first : first + _TOPICS], "internal": "true"}
        for topic in gateway.pages(["topics"], query, "topics"):
            if topic.get("trouble"):
                raise NotTold(topic["trouble"])
            found[topic["name"]] = sum(_behind(queue, positions.get(queue["queue"], "")) for queue in topic.get("queues", ()))
    if missing := [topic for topic in topics if topic not in found]:
        msg = f"there is no topic {missing[0]}"
        raise NotTold(msg)
    return found


def shown(said: Sequence[states.ConnectorState], known: Mapping[str, Lag]) -> Iterator[Metric]:
    """Yield it.

    Args:
        said: What the state service says.
        known: What was asked for, by connector.
    """
    lag = GaugeMetricFamily(
        "rocketconnect_connector_lag_messages",
        "Messages between the committed positions and the ends of the topics of a sink. It is there while a task does not tell its "
        "lag: has failed, starts, or has no worker.",
        labels=["connector", "topic"],
    )
    is_known = GaugeMetricFamily(
        "rocketconnect_connector_lag_known",
        "1: the tasks of the sink tell their lag, or it was asked for; 0: nobody knows it.",
        labels=["connector"],
    )
    for sink in filter(_is_sink, said):
        tells = _tells(sink)
        is_known.add_metric([sink.connector], tells or sink.connector in known)
        if not tells:
            for topic, messages in known.get(sink.connector, {}).items():
                lag.add_metric([sink.connector, topic], messages)
    yield from (lag, is_known)


def _is_sink(said: states.ConnectorState) -> bool:
    return said.type == connectors.CONNECTOR_TYPE_SINK and said.state != connectors.STATE_STOPPED


def _tells(said: states.ConnectorState) -> bool:
    tasks = [task for task in said.tasks if task.task >= 0]
    return all(task.state in UNDER_WAY for task in tasks) if tasks else said.state in _AT_REST


def _behind(queue: Mapping[str, str], offset: str) -> int:
    # A queue without a position is one that the topic has got since: it is read from its beginning.
    begins = int(offset.strip("[]").partition(",")[0] or 0)
    return max(0, int(queue.get("latest", 0)) - max(begins, int(queue.get("earliest", 0))))
