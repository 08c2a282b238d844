"""Topics of a cluster of RocketMQ that is reached by gRPC into topics of ours."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from types import MappingProxyType

from connectors.rocketmq.options import CLUSTER_IDS, cluster_problems, names_problems
from connectors.rocketmq.source import converter_problems
from connectors.rocketmq_grpc.options import AWAY, CHECK_SECONDS, REFUSED, SERVER, certificate_problems
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.filters.expressions import expression_problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.queues import QueueSource, Share, Subscription
from rocketconnect_sdk.routes.names import TOPIC_LENGTH, topic_problem

_HOURS = 3600


def _topics_problem(topics: Sequence[str]) -> str | None:
    if not topics:
        return "names no topic"
    if len(set(topics)) < len(topics):
        return "names a topic twice"
    told = ((topic, topic_problem(topic)) for topic in topics)
    return next((f"{topic[:TOPIC_LENGTH]!r} {problem}" for topic, problem in told if problem), None)


class RocketmqGrpcSource(QueueSource):
    """Reads topics of a cluster that has an endpoint of gRPC, as members of a consumer group there; messages go on whole."""

    name = "rocketmq_grpc_source"
    whole_messages = True
    defaults = MappingProxyType({"value.converter": "bytes"})
    options = (
        *SERVER,
        *CLUSTER_IDS,
        Option(
            "topics",
            "The topics that are read, separated by commas.",
            Kind.LIST,
            required=True,
            check=_topics_problem,
            fix="Write names of topics: orders,payments.",
            example="orders",
        ),
        Option(
            "group",
            "The consumer group there, which keeps what is read. All tasks are members of it. Nobody else should be one: messages "
            "are shared out among its members.",
            required=True,
            check=topic_problem,
            fix="Name the group that was made for this connector.",
            example="rocketconnect",
        ),
        Option("tags", "Only messages with one of these tags, separated by commas. Empty: all.", Kind.LIST, ""),
        Option(
            "sql",
            "Only messages whose properties fit this SQL92 expression of RocketMQ, such as TAGS = 'new' AND amount > 100. Empty: "
            "all.",
            default="",
            check=lambda text: expression_problem(text) if text else None,
            fix="Write for instance country = 'CH' AND amount BETWEEN 10 AND 20: see docs/messages.md.",
        ),
        Option(
            "topic.template",
            "The topic of each topic of the other cluster, such as A-${topic}; what RocketMQ takes in no name becomes _. Empty: "
            "all messages go to the topic of the configuration.",
            default="${topic}",
        ),
        Option(
            "invisible.duration",
            "How long nobody else gets a message that was given to a task; it is made longer while the task is at it. After a "
            "death of the task its messages come again after so long.",
            Kind.DURATION,
            "60s",
            minimum=10,
            maximum=12 * _HOURS,
        ),
        *QueueSource.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See QueueSource."""
        return run_checks(
            config, cluster_problems, certificate_problems, names_problems, converter_problems, _filter_problems, _cluster_problems
        )

    def origins(self, config: Config) -> Iterable[Origin]:
        """The topics, as one group reads them. See Source."""
        place = f"rocketmq+grpc://{','.join(sorted(config['endpoints']))}/{config['namespace']}/{config['group']}/"
        for name in config["topics"]:
            yield Origin("topics", place, name, into=config["topic.template"])

    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """See QueueSource."""
        from connectors.rocketmq_grpc.subscription import GrpcSubscription

        return GrpcSubscription(
            config, share, context, partial(_topic, topics_of(config["topic.template"], "topic", config["topics"]))
        )


def _topic(topics: dict[str, str], name: str) -> str:
    return topics.get(name, "")


def _filter_problems(config: Config) -> Iterable[Problem]:
    if config["tags"] and config["sql"]:
        wanted = ", ".join(f"'{tag}'" for tag in config["tags"])
        fix = f"Leave it out, and write in sql: TAGS IN ({wanted}) AND ({config['sql'][:200]})."
        yield Problem("tags", ",".join(config["tags"])[:200], "cannot be given beside sql: servers take one filter", fix)
    try:
        topics_of(config["topic.template"], "topic", config["topics"])
    except PermanentError as error:
        yield Problem("topic.template", config["topic.template"], str(error), "Leave one of them out.")


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if list(cluster_problems(config)):
        return
    from connectors.rocketmq_grpc.client import Client
    from connectors.rocketmq_grpc.faults import NotThere
    from connectors.rocketmq_grpc.session import Session
    from connectors.rocketmq_grpc.subscription import consumer_settings

    with closing(Client(config, "rocketconnect-check", min(CHECK_SECONDS, config["request.timeout"]))) as client:
        for topic in config["topics"]:
            try:
                route = client.route(topic)
            except NotThere as error:
                fix = "Create it, or correct its name."
                yield Problem("topics", topic, str(error), fix, is_warning=True)
            else:
                if not route.readable:
                    fix = "Let it be read: mqadmin updateTopicPerm."
                    yield Problem("topics", topic, "may not be read by anybody (its permission)", fix)
        try:
            session = Session(client, client.first, consumer_settings(client, config))
        except NotThere as error:
            yield Problem("group", config["group"], str(error), "Create it, or correct its name.", is_warning=True)
        else:
            session.leave()
            session.close()
