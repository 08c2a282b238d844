"""What of a message goes on, and what it carries of where it was. Pure."""

from collections.abc import Mapping

from rocketconnect_sdk.writes import Operation, Template

PREFIX = "replicator."
CLUSTERS = f"{PREFIX}clusters"
"""The names of the clusters that a message was in before, separated by commas, in their order."""
TOPIC = f"{PREFIX}topic"
QUEUE = f"{PREFIX}queue"
OFFSET = f"{PREFIX}offset"
MESSAGE_ID = f"{PREFIX}message.id"
STORE_TIME = f"{PREFIX}store.time"
BORN_TIME = f"{PREFIX}born.time"
BORN_HOST = f"{PREFIX}born.host"
ATTEMPT = f"{PREFIX}delivery.attempt"
"""How often the cluster had given it to the group, this time included, where it counts that."""
MARK = f"{PREFIX}mark"
"""What a source of RocketConnect had marked it with first."""
_OUR_MARK = "RCPOS"
PLACE = {name: Template.of(f"${{{name}}}") for name in ("topic", "queue", "offset")}
"""What a sink has told of each message: see Addressing.more."""
_OF_ONE_PLACE = frozenset({TOPIC, QUEUE, OFFSET, MESSAGE_ID, STORE_TIME, BORN_TIME, BORN_HOST, ATTEMPT})
_OF_ONE_DELIVERY = frozenset(
    {
        "CLUSTER",
        "CONSUME_START_TIME",
        "DELAY",
        "INNER_BASE",
        "INNER_MULTI_QUEUE_OFFSET",
        "INNER_NUM",
        "MAX_OFFSET",
        "MAX_RECONSUME_TIMES",
        "MIN_OFFSET",
        "MSG_REGION",
        "PGROUP",
        "REAL_QID",
        "REAL_TOPIC",
        "RECONSUME_TIME",
        "TIMER_DELAY_LEVEL",
        "TIMER_DELAY_MS",
        "TIMER_DELAY_SEC",
        "TIMER_DELIVER_MS",
        "TIMER_ENQUEUE_MS",
        "TIMER_DEQUEUE_MS",
        "TIMER_OUT_MS",
        "TIMER_ROLL_TIMES",
        "TRACE_ON",
        "TRAN_MSG",
        "WAIT",
        "__STARTDELIVERTIME",
    }
)
"""Properties that say what a broker shall do, or has done, with a message: another one would do it again, hold it back, or hide it
until a transaction ends that nobody knows there. MessageConst of RocketMQ has them."""


def clusters_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The clusters that a message was in before the one where it is."""
    return tuple(filter(None, properties.get(CLUSTERS, "").split(",")))


def copied(properties: Mapping[str, str], cluster: str, origin: Mapping[str, str]) -> dict[str, str]:
    """The properties of a message in the next cluster.

    Args:
        properties: Those that it has.
        cluster: The name of the one that it is in.
        origin: What is said of its place there, in the place of what was said of the place before.
    """
    kept = {name: value for name, value in properties.items() if name not in _OF_ONE_DELIVERY and name not in _OF_ONE_PLACE}
    # Its marks tell of places that are not those of the copy; sinks would leave out what they take for doubles.
    if (mark := kept.pop(_OUR_MARK, None)) is not None:
        kept.setdefault(MARK, mark)
    return {**kept, CLUSTERS: ",".join((*clusters_of(properties), cluster)), **origin}


def sent_on(operation: Operation, cluster: str) -> dict[str, str]:
    """The properties of a message of ours in another cluster.

    Args:
        operation: Its texts are PLACE.
        cluster: The name of ours.
    """
    _, broker, number = operation.more["queue"].rsplit("/", 2)
    origin = {TOPIC: operation.more["topic"], QUEUE: f"{broker}/{number}", OFFSET: operation.more["offset"]}
    if operation.time_ms is not None:
        origin[STORE_TIME] = str(operation.time_ms)
    return copied(operation.headers, cluster, origin)
