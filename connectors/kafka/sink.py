"""Topics into topics of Kafka."""

from collections.abc import Iterable

from connectors.kafka.options import AWAY, CHECK_SECONDS, CLUSTER, POSITIONS, REFUSED, cluster_problems
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.partitions.options import HeaderForm
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import (
    FORM,
    Addressing,
    Connection,
    Template,
    WriteSink,
    template_option,
)

_EXACT = "exactly_once"
_QUEUE = Template.of("${queue}")
_LARGEST = 1_000_000_000
_MAKES = ("target.partitions", "target.replication.factor", "target.settings")


class KafkaSink(WriteSink):
    """Writes records to topics of Kafka as messages, exactly once, in transactions that carry the positions."""

    name = "kafka_sink"
    guarantee = Guarantee.EXACTLY_ONCE
    extra = "kafka"
    packages = ("confluent_kafka",)
    options = (
        *CLUSTER,
        template_option(
            "target.topic",
            f"The topic of Kafka. {FORM} stand for what a record has.",
            "${topic}",
        ),
        Option(
            "target.create",
            "Topics that are not there are made. Otherwise the task waits for them, and says so.",
            Kind.BOOL,
            "true",
        ),
        Option(
            "target.partitions",
            "How many partitions a topic gets that it makes; 0: as many as the cluster gives it.",
            Kind.INT,
            "0",
            minimum=0,
        ),
        Option(
            "target.replication.factor",
            "How many replicas a topic gets that it makes, that of positions too; 0: as many as the cluster gives it.",
            Kind.INT,
            "0",
            minimum=0,
        ),
        Option(
            "target.settings",
            "Settings of topics that are made, each NAME=TEXT, separated by commas: cleanup.policy=compact.",
            Kind.LIST,
            default="",
            check=lambda pairs: next((f"{pair!r} is no NAME=TEXT" for pair in pairs if not all(pair.partition("="))), None),
            fix="Write NAME=TEXT,NAME=TEXT.",
        ),
        Option(
            "partition.by",
            "key: records of a key go to the partition that Kafka's own producer chooses for it, and those without one to that of "
            "their queue. queue: all records of a queue go to one partition, by the number of the queue.",
            default="key",
            choices=("key", "queue"),
        ),
        Option(
            "headers",
            "text: headers stay headers. json: so do they, and what kafka_source has made with headers=json, the header `headers`, "
            "is the headers that it was. none: they are left out.",
            default=HeaderForm.TEXT.value,
            choices=tuple(form.value for form in HeaderForm),
        ),
        Option(
            "compression.type",
            "How messages are compressed.",
            default="none",
            choices=("none", "gzip", "snappy", "lz4", "zstd"),
        ),
        Option(
            "message.max.bytes",
            "The size of the largest message, and of a batch of them, before it is compressed: what max.message.bytes of the "
            "topics allows.",
            Kind.INT,
            "1000000",
            minimum=1000,
            maximum=_LARGEST,
        ),
        Option(
            "delivery",
            "exactly_once: by transactions of Kafka, which carry the positions to positions.topic. at_least_once: without either; "
            "messages may be there twice after a failure.",
            default=_EXACT,
            choices=(_EXACT, "at_least_once"),
        ),
        Option(
            "positions.topic",
            "The topic that keeps the positions of connectors, compacted and of one partition; it is made if it is not there.",
            default=POSITIONS,
        ),
        Option(
            "transactional.id.prefix",
            "With what the names of transactions begin, PREFIX-CONNECTOR-TASK: the user needs Write on them.",
            default="rocketconnect",
        ),
        Option(
            "transaction.timeout",
            "The cluster gives up a transaction that takes longer, such as that of a task that was killed; "
            "transaction.max.timeout.ms of the servers is the most.",
            Kind.DURATION,
            "60s",
            minimum=1,
            maximum=900,
        ),
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, cluster_problems, _option_problems, _cluster_problems)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        return Addressing(target=Template.of(config["target.topic"]), more={"queue": _QUEUE}, messages=True)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.kafka.connection import ExactConnection, KafkaConnection

        return ExactConnection(config, context) if config["delivery"] == _EXACT else KafkaConnection(config, context)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes the positions. See Sink."""
        if config["delivery"] == _EXACT:
            from connectors.kafka.connection import forget

            forget(config, connector_uid)


def _option_problems(config: Config) -> Iterable[Problem]:
    for key in _MAKES:
        if config[key] and not config["target.create"]:
            yield Problem(key, config.raw[key], "means nothing with target.create=false", "Remove it, or set target.create=true.")


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if list(cluster_problems(config)):
        return
    from connectors.kafka.checks import problems_there

    yield from problems_there(config, min(CHECK_SECONDS, config["request.timeout"]), exact=config["delivery"] == _EXACT)
