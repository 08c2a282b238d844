"""Topics of Kafka into topics."""

from collections.abc import Iterable
from contextlib import closing

from connectors.kafka.options import AWAY, CHECK_SECONDS, CLUSTER, REFUSED, cluster_problems
from rocketconnect_sdk.configuration.patterns import pattern_option
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.partitions import READING, Log, PartitionSource
from rocketconnect_sdk.partitions.topics import topics_of

_RIGHTS = "Give the user Read and Describe: kafka-acls --add --allow-principal User:{user} --operation Read --topic {topic}"


class KafkaSource(PartitionSource):
    """Reads topics of Kafka from offsets of its own, exactly once, without a group of consumers."""

    name = "kafka_source"
    extra = "kafka"
    packages = ("confluent_kafka",)
    options = (
        *CLUSTER,
        Option("kafka.topics", "The topics that are read, separated by commas.", Kind.LIST, "", example="orders"),
        pattern_option(
            "kafka.topics.pattern",
            "Topics that are read beside them: a regular expression that matches the whole name. New ones are found while it runs; "
            "those that begin with __ are Kafka's own, and are left out.",
        ),
        Option(
            "topic.template",
            "The topic of each topic of Kafka, such as kafka-${topic}; what RocketMQ takes in no name becomes _. Empty: all "
            "records go to the topic of the configuration.",
            default="",
        ),
        Option(
            "isolation.level",
            "read_committed: what a transaction has written is read when it is committed, and never if it is aborted. "
            "read_uncommitted: everything is read at once.",
            default="read_committed",
            choices=("read_committed", "read_uncommitted"),
        ),
        *READING,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See PartitionSource."""
        return run_checks(config, cluster_problems, _topic_problems, _cluster_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The topics. See Source."""
        place, into = f"kafka://{','.join(sorted(config['bootstrap.servers']))}/", config["topic.template"]
        for name in config["kafka.topics"]:
            yield Origin("kafka.topics", place, name, into=into)
        if config["kafka.topics.pattern"]:
            # At a place of its own: it is no glob.
            yield Origin("kafka.topics.pattern", f"{place}?pattern=", config["kafka.topics.pattern"], into=into)

    def connect(self, config: Config, context: TaskContext) -> Log:
        """See PartitionSource."""
        from connectors.kafka.log import KafkaLog

        del context
        return KafkaLog(config)


def _topic_problems(config: Config) -> Iterable[Problem]:
    if not config["kafka.topics"] and not config["kafka.topics.pattern"]:
        yield Problem("kafka.topics", "", "is missing, and so is kafka.topics.pattern", "Name topics, or give a pattern.")


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if list(cluster_problems(config)):
        return
    from confluent_kafka import KafkaError

    from connectors.kafka.log import KafkaLog

    with closing(KafkaLog(config, CHECK_SECONDS)) as log:
        found, wrong = log.described()
    user = config["user"] or "ANONYMOUS"
    for name, told in wrong.items():
        if told.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            near = "Create it, correct its name, or give the user Describe on it."
            yield Problem("kafka.topics", name, "is not there", near)
        else:
            yield Problem("kafka.topics", name, told.str(), f"{_RIGHTS.format(user=user, topic=name)}.")
    for name, topic in found.items():
        if not topic.may_read:
            key = "kafka.topics" if name in config["kafka.topics"] else "kafka.topics.pattern"
            yield Problem(key, name, "may not be read by the user", f"{_RIGHTS.format(user=user, topic=name)}.")
    if config["kafka.topics.pattern"] and not found:
        reason = "matches no topic that the user may see"
        fix = "Correct it, or wait: topics are found when they come."
        yield Problem("kafka.topics.pattern", config["kafka.topics.pattern"], reason, fix, is_warning=True)
    try:
        topics_of(config["topic.template"], "topic", found)
    except PermanentError as error:
        yield Problem("topic.template", config["topic.template"], str(error), "Leave one of them out.")
