"""Topics of ours into topics of another cluster of RocketMQ."""

from collections.abc import Iterable
from contextlib import closing
from types import MappingProxyType

from connectors.rocketmq.messages import PLACE
from connectors.rocketmq.options import AWAY, CHECK_SECONDS, CLUSTER_IDS, REFUSED, cluster_options, cluster_problems, names_problems
from connectors.rocketmq.source import converter_problems
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import FORM, Addressing, Connection, Template, WriteSink, template_option

_LARGEST = 1_000_000_000


class RocketmqSink(WriteSink):
    """Writes messages whole to topics of another cluster, at least once: RocketMQ has no producer that never doubles."""

    name = "rocketmq_sink"
    guarantee = Guarantee.AT_LEAST_ONCE
    whole_messages = True
    defaults = MappingProxyType({**WriteSink.defaults, "value.converter": "bytes"})
    options = (
        *cluster_options("dest"),
        REQUEST_TIMEOUT,
        *CLUSTER_IDS,
        template_option(
            "target.topic",
            f"The topic of the other cluster. {FORM} stand for what a record has.",
            "${topic}",
        ),
        Option(
            "target.create",
            "Topics that are not there are made. Otherwise the task waits for them, and says so.",
            Kind.BOOL,
            "true",
        ),
        Option(
            "target.queues",
            "So many queues has a topic that is made on each broker. With as many as the topic that is read has, messages keep the "
            "numbers of their queues.",
            Kind.INT,
            "8",
            minimum=1,
            maximum=1024,
        ),
        Option("group", "The producer group in whose name it writes.", default="rocketconnect-replicator"),
        Option(
            "message.max.bytes",
            "So many bytes go into one request at most; a message may have more, up to what the brokers take (maxMessageSize).",
            Kind.SIZE,
            "1MiB",
            minimum=1024,
            maximum=_LARGEST,
        ),
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, cluster_problems, names_problems, converter_problems, _cluster_problems)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        return Addressing(target=Template.of(config["target.topic"]), more=PLACE, messages=True)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.rocketmq.connection import RocketmqConnection

        del context
        return RocketmqConnection(config)


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if list(cluster_problems(config)):
        return
    from connectors.rocketmq.connection import RocketmqConnection

    name: str = config["target.topic"]
    with closing(RocketmqConnection(config, min(CHECK_SECONDS, config["request.timeout"]))) as connection:
        connection.ping()
        if "$" not in name and not config["target.create"] and not connection.has(name):
            yield Problem("target.topic", name, "is not there", "Create it, or set target.create=true.", is_warning=True)
