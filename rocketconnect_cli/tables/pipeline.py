"""What the services say of a pipeline: how far its source has read, how far its topics reach, how far its sinks have come."""

import time
from collections.abc import Iterable

from rocketconnect_cli.api import Api, connector_path
from rocketconnect_cli.shown import STORED
from rocketconnect_cli.states import State, get_state, state_name, whole_lag
from rocketconnect_cli.tables.passage import PipelineState

_STANDING = (State.PAUSED, State.STOPPED, State.FAILED)


def look(client: Api, source: str, sinks: Iterable[str]) -> PipelineState:
    """Asks the services.

    Args:
        client: Of the API.
        source: Its name.
        sinks: Those that write the tables which are compared.

    Raises:
        ApiError: a service does not answer, or a connector is gone.
    """
    begun = time.monotonic()
    positions: dict[str, int] = {}
    topics: set[str] = set()
    states = {}
    for sink in sinks:
        states[sink] = get_state(client, sink)
        config = client.request("GET", connector_path(sink), like=STORED)["connector"]["config"]
        topics.update(topic.strip() for topic in str(config.get("topics", "")).split(","))
        rows = client.pages(f"{connector_path(sink)}/positions", "positions", {"partition": "", "offset": ""})
        positions |= {row["partition"]: int(row["offset"].strip("[]")) for row in rows if not row["partition"].startswith("~")}
    found = [topic for topic in client.pages("/v1/topics", "topics", {"name": ""}) if topic["name"] in topics]
    queues = [queue for topic in found for queue in topic.get("queues", [])]
    begins = {queue["queue"]: int(queue.get("earliest", 0)) for queue in queues}
    ends = {queue["queue"]: int(queue.get("latest", 0)) for queue in queues}
    states[source] = get_state(client, source)
    standing = {name: now for name, state in states.items() if (now := state_name(state)) in _STANDING}
    lag = whole_lag(states[source].get("tasks", []))
    read = state_name(states[source]) == State.IDLE or (lag is not None and not lag.amount)
    unread = str(lag) if lag is not None and lag.amount else ""
    return PipelineState(begun, standing, read, ends, begins | positions, unread)
