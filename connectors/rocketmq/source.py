"""Topics of another cluster of RocketMQ into topics of ours."""

from collections.abc import Iterable
from contextlib import closing
from types import MappingProxyType

from connectors.rocketmq.options import AWAY, CHECK_SECONDS, CLUSTER_IDS, REFUSED, cluster_options, cluster_problems
from connectors.rocketmq.selection import Selection, topic_tags_problem
from rocketconnect_sdk.configuration.patterns import pattern_problem
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.converters import converter_class
from rocketconnect_sdk.errors import ConfigError, PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.partitions import STARTING, Log, PartitionSource
from rocketconnect_sdk.partitions.topics import topics_of

_NAMED = ("topics", "topics.pattern", "src.topictags")
_STARTS = {
    "": "",
    "CONSUME_FROM_FIRST_OFFSET": "earliest",
    "CONSUME_FROM_LAST_OFFSET": "latest",
    "CONSUME_FROM_MAX_OFFSET": "latest",
}
_MEANS_NOTHING = (
    "src.cloud",
    "src.region",
    "src.acl.enable",
    "dest.cloud",
    "dest.region",
    "dest.acl.enable",
    "dest.endpoint",
    "divide.strategy",
)
_PATTERN_FIX = "Write a regular expression such as orders-.*."


class RocketmqSource(PartitionSource):
    """Reads topics of another cluster whole, exactly once, without a group's offsets."""

    name = "rocketmq_source"
    aliases = ("ReplicatorSourceConnector", "org.apache.rocketmq.replicator.ReplicatorSourceConnector")
    whole_messages = True
    defaults = MappingProxyType({"value.converter": "bytes"})
    options = (
        *cluster_options("src"),
        *CLUSTER_IDS,
        Option("topics", "The topics that are read, separated by commas.", Kind.LIST, "", example="orders"),
        Option(
            "topics.pattern",
            "Topics that are read beside them: a regular expression that matches the whole name. New ones are found while it runs; "
            "those that RocketMQ keeps for itself and for groups (%RETRY%, %DLQ%, RMQ_SYS_) are left out.",
            default="",
            check=lambda pattern: pattern_problem(pattern) if pattern else None,
            fix=_PATTERN_FIX,
        ),
        Option(
            "topics.exclude",
            "Topics that are left out of these: a regular expression that matches the whole name.",
            default="",
            check=lambda pattern: pattern_problem(pattern) if pattern else None,
            fix=_PATTERN_FIX,
        ),
        Option("tags", "Only messages with one of these tags, separated by commas. Empty: all.", Kind.LIST, ""),
        Option(
            "src.topictags",
            "Topics with tags of their own, as RocketMQ's replicator has them: orders,new || paid;payments,*.",
            default="",
            check=topic_tags_problem,
            fix="Write TOPIC,TAG;TOPIC,TAG.",
        ),
        Option(
            "topic.template",
            "The topic of each topic of the other cluster, such as A-${topic}; what RocketMQ takes in no name becomes _. Empty: "
            "all messages go to the topic of the configuration.",
            default="${topic}",
            aliases=("dest.topic",),
        ),
        Option(
            "group",
            "The consumer group in whose name it reads; it commits no offsets there.",
            default="rocketconnect-replicator",
            check=lambda group: None if group else "is empty",
            fix="Name a group that the user may read with.",
        ),
        *STARTING,
        Option(
            "consumefromwhere",
            "Accepted for RocketMQ Connect's sake, in the place of `start`.",
            default="",
            choices=tuple(_STARTS),
        ),
        *(Option(key, "Accepted for RocketMQ Connect's sake: it means nothing here.", default="") for key in _MEANS_NOTHING),
    )

    def start(self, config: Config) -> str | float:
        """See PartitionSource."""
        return _STARTS[config["consumefromwhere"]] or super().start(config)

    def look(self, config: Config) -> Iterable[Problem]:
        """See PartitionSource."""
        return run_checks(config, cluster_problems, _topic_problems, converter_problems, _cluster_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The topics. See Source."""
        place, into = f"rocketmq://{','.join(sorted(config['name.servers']))}/", config["topic.template"]
        for name in Selection.of(config).names:
            yield Origin("topics", place, name, into=into)
        if config["topics.pattern"]:
            # At a place of its own: it is no glob.
            yield Origin("topics.pattern", f"{place}?pattern=", config["topics.pattern"], into=into)

    def connect(self, config: Config, context: TaskContext) -> Log:
        """See PartitionSource."""
        from connectors.rocketmq.log import RocketmqLog

        del context
        return RocketmqLog(config)


def _topic_problems(config: Config) -> Iterable[Problem]:
    if not any(config[key] for key in _NAMED):
        yield Problem("topics", "", "is missing, and so is topics.pattern", "Name topics, or give a pattern.")


def converter_problems(config: Config) -> Iterable[Problem]:
    """A converter that would change bodies."""
    if "value.converter" not in config:
        return
    try:
        name = converter_class(config["value.converter"]).name
    except ConfigError:
        return  # told by others
    if name != "bytes":
        why = "would write the bodies of messages anew, which are copied as they are"
        yield Problem("value.converter", config["value.converter"], why, "Leave it out, or set value.converter=bytes.")


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if list(cluster_problems(config)) or list(_topic_problems(config)):
        return
    from connectors.rocketmq.log import RocketmqLog

    with closing(RocketmqLog(config, min(CHECK_SECONDS, config["request.timeout"]))) as log:
        log.ping()
        found = log.topics()
    for name in Selection.of(config).names:
        if name not in found:
            fix = "Create it, start its broker, or correct its name."
            yield Problem("topics", name, "is not there", fix, is_warning=True)
        elif not found[name]:
            yield Problem("topics", name, "may not be read by anybody (its permission)", "Let it be read: mqadmin updateTopicPerm.")
    if config["topics.pattern"] and not found:
        reason = "matches no topic that is there"
        fix = "Correct it, or wait: topics are found when they come."
        yield Problem("topics.pattern", config["topics.pattern"], reason, fix, is_warning=True)
    try:
        topics_of(config["topic.template"], "topic", found)
    except PermanentError as error:
        yield Problem("topic.template", config["topic.template"], str(error), "Leave one of them out.")
