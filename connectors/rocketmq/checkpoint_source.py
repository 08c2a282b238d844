"""Offsets of the consumer groups of another cluster, translated to where the copies of its messages are here."""

from collections.abc import Iterable, Sequence
from contextlib import closing

from connectors.rocketmq.options import (
    AWAY,
    CHECK_SECONDS,
    CLUSTER_IDS,
    GROUPS,
    REFUSED,
    TARGET,
    TOPICS,
    both_problems,
    cluster_options,
    names_problems,
    topic_problems,
)
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors import DISCOVER_INTERVAL, Connection, CursorSource, Stream
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT
from rocketconnect_sdk.options import Config, Kind, Option, run_checks


class RocketmqCheckpointSource(CursorSource):
    """Tells, again and again, where each group goes on among the copies, and sets its offsets here while nobody reads in its name.

    A record tells of one group and one queue of the other cluster, when its place has changed. At least once.
    """

    name = "rocketmq_checkpoint_source"
    aliases = ("ReplicatorCheckpointConnector", "org.apache.rocketmq.replicator.ReplicatorCheckpointConnector")
    options = (
        *cluster_options("src"),
        *cluster_options("dest", TARGET, "this"),
        REQUEST_TIMEOUT,
        *CLUSTER_IDS,
        *TOPICS,
        *GROUPS,
        Option(
            "offsets.sync",
            "Set the offsets of the groups here, forwards alone, and only while nobody is connected in their name. Without it the "
            "records tell the places, and nothing is set.",
            Kind.BOOL,
            "true",
        ),
        *CursorSource.options,
        DISCOVER_INTERVAL,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See CursorSource."""
        return run_checks(config, both_problems, names_problems, topic_problems, _own_problems, _cluster_problems)

    def streams(self, config: Config) -> Sequence[Stream]:
        """The topics. See CursorSource."""
        from connectors.rocketmq.replicator.checkpoints import Checkpoints

        with closing(Checkpoints(config)) as checkpoints:
            return [Stream(topic) for topic in checkpoints.topics()]

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See CursorSource."""
        from connectors.rocketmq.replicator.checkpoints import Checkpoints

        return Checkpoints(config, context.log)


def _own_problems(config: Config) -> Iterable[Problem]:
    if not config["groups"] and not config["groups.pattern"]:
        yield Problem("groups", "", "is missing, and so is groups.pattern", "Name groups, or give a pattern.")
    if not config["topic.template"]:
        yield Problem("topic.template", "", "is missing", "Give that of the connector that copies the topics, such as ${topic}.")


@preflight(away=AWAY, refused=REFUSED)
def _cluster_problems(config: Config) -> Iterable[Problem]:
    if any(run_checks(config, both_problems, topic_problems, _own_problems)):
        return
    from connectors.rocketmq.replicator.checkpoints import Checkpoints

    with closing(Checkpoints(config, seconds=min(CHECK_SECONDS, config["request.timeout"]))) as checkpoints:
        checkpoints.ping()
        found = checkpoints.topics()
    for name in config["topics"]:
        if name not in found:
            yield Problem("topics", name, "is not there", "Create it, start its broker, or correct its name.", is_warning=True)
