"""Which messages of its topics a sink reads: brokers leave the others out."""

from collections.abc import Iterable

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.filters.options import SQL, TAGS, tags_of
from rocketconnect_sdk.options import Config
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import NoPermission
from rocketmq_remoting.model import MessageQueue, SqlFilter, TagFilter

MessageFilter = TagFilter | SqlFilter


def filter_of(config: Config) -> MessageFilter | None:
    """What the configuration of a sink says; None: all messages are read."""
    if config[SQL.key]:
        return SqlFilter(config[SQL.key])
    tags = tags_of(config)
    return TagFilter.of(*tags) if tags else None


def option_of(only: MessageFilter) -> str:
    """The option that says it."""
    return SQL.key if isinstance(only, SqlFilter) else TAGS.key


def refuse_unfilterable(client: Client, topic: str, only: MessageFilter) -> None:
    """Return where messages of a topic can be filtered: a broker compares one tag, or one set of properties, for a whole unit.

    Raises:
        PermanentError: it is a batch topic, or nobody tells.
        RetriableError, TopicNotFound: of RocketMQ: for now.
    """
    key = option_of(only)
    try:
        topic_type = client.topic_config(topic).topic_type
    except NoPermission as error:
        # Invariant 5: of a batch topic nearly everything would be left out in silence.
        msg = (
            f"whether topic {topic} is a batch topic, of which nothing can be filtered, is not known ({error}): let the user ask "
            f"for its configuration, or leave {key} out"
        )
        raise PermanentError(msg) from error
    if topic_type == "batch":
        msg = (
            f"topic {topic} is a batch topic, of whose units of several messages brokers filter none: leave {key} out and drop "
            "records by a transform with a predicate, or read a normal topic"
        )
        raise PermanentError(msg)


def ask_brokers(client: Client, queues: Iterable[MessageQueue], only: MessageFilter, group: str) -> None:
    """Return when the brokers of these queues take a filter.

    Raises:
        InvalidFilter: one can't make sense of the expression, or allows none.
        RetriableError: of RocketMQ: for now.
    """
    if isinstance(only, TagFilter):
        return
    for queue in {queue.broker: queue for queue in queues}.values():
        client.pull_lane(queue, max_bytes=1, suspend=0.0, message_filter=only, group=group)
