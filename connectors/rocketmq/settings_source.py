"""How the topics and consumer groups of another cluster are set, kept here."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace

from connectors.rocketmq.groups import is_system_group
from connectors.rocketmq.options import AWAY, CHECK_SECONDS, GROUPS, REFUSED, TARGET, TOPICS, both_problems, cluster_options
from connectors.rocketmq.selection import Selection
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors import POLL_INTERVAL, Connection, CursorSource, Stream
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.routes.reserved import is_reserved

_TOPICS = ("topics", "topics.pattern", "src.topictags")
_GROUPS = ("groups", "groups.pattern")


class RocketmqSettingsSource(CursorSource):
    """Makes topics and groups here as they are there, keeps them so, and tells what was changed, what differs, and what failed.

    A record tells of one topic or group and one broker here, when what became of it has changed. At least once.
    """

    name = "rocketmq_settings_source"
    aliases = ("RmqMetaReplicator", "org.apache.rocketmq.replicator.RmqMetaReplicator")
    options = (
        *cluster_options("src"),
        *cluster_options("dest", TARGET, "this"),
        REQUEST_TIMEOUT,
        *TOPICS,
        *GROUPS,
        Option(
            "settings.sync",
            "Set the topics and groups here. Without it the records tell what would be done, and nothing is.",
            Kind.BOOL,
            "true",
        ),
        Option(
            "rights.narrow",
            "Take rights away here that were taken away there: to read and write a topic (perm), those of a group to consume and "
            "to broadcast. Copies can't be written to a topic that may not be written. Without it they are kept, and told.",
            Kind.BOOL,
            "false",
        ),
        replace(POLL_INTERVAL, default="30s"),
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See CursorSource."""
        return run_checks(config, both_problems, _own_problems, _cluster_problems)

    def streams(self, config: Config) -> Sequence[Stream]:
        """Those of the two that are meant. See CursorSource."""
        asked = {"topics": _TOPICS, "groups": _GROUPS}
        return [Stream(name) for name, keys in asked.items() if any(config[key] for key in keys)]

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See CursorSource."""
        from connectors.rocketmq.replicator.following import Following

        return Following(config, context.log)


def _own_problems(config: Config) -> Iterable[Problem]:
    if not any(config[key] for key in (*_TOPICS, *_GROUPS)):
        yield Problem("topics", "", "is missing, and so is groups", "Name topics or groups, or give a pattern of either.")
    if not config["topic.template"]:
        yield Problem("topic.template", "", "is missing", "Give that of the connector that copies the topics, such as ${topic}.")
    for key, names, is_own in (
        ("topics", Selection.of(config).names, is_reserved),
        ("groups", config["groups"], is_system_group),
    ):
        for name in filter(is_own, names):
            yield Problem(key, name, "is one that RocketMQ keeps for itself or for groups", "Leave it out.")


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if any(run_checks(config, both_problems, _own_problems)):
        return
    from connectors.rocketmq.replicator.following import Following

    with closing(Following(config, seconds=min(CHECK_SECONDS, config["request.timeout"]))) as following:
        following.ping()
        topics, groups = following.topics(), following.groups()
    for key, names, found in (("topics", Selection.of(config).names, topics), ("groups", config["groups"], groups)):
        for name in names:
            if name not in found:
                yield Problem(key, name, "is not there", "Create it, start its broker, or correct its name.", is_warning=True)
    try:
        topics_of(config["topic.template"], "topic", topics)
    except PermanentError as error:
        yield Problem("topic.template", config["topic.template"], str(error), "Leave one of them out.")
