"""Topics and groups of a cluster behind a proxy, and what connectors are told of them."""

from tests.connectors.rocketmq.clusters import Cluster
from tests.servers.rocketmq_grpc.proxy import Proxy
from tests.servers.rocketmq_grpc.standin import StandIn

_ANY_GROUP = "TOOLS_CONSUMER"


def options(proxy: Proxy | StandIn, **given: str) -> dict[str, str]:
    """Of a connector; keys may be written as names of Python."""
    names = {"endpoints": proxy.endpoint, "source.cluster": "A", "target.cluster": "B"}
    return {**names, **{name.replace("_", "."): value for name, value in given.items()}}


def reading(proxy: Proxy, topic: str, **given: str) -> dict[str, str]:
    """Of a source, with a group of this topic alone."""
    return options(proxy, topics=topic, group=group_of(topic), invisible_duration="10s", topic_template="", **given)


def group_of(topic: str) -> str:
    return f"readers-of-{topic}"


def make_group(cluster: Cluster, group: str, **settings: object) -> None:
    """Makes a group as those are that nobody has made, but for these settings."""
    for broker in cluster.client.admin.brokers():
        assert broker.master is not None
        known = cluster.client.settings.groups(broker.master)[_ANY_GROUP]
        cluster.client.settings.set_group(broker.master, {**known, "groupName": group, **settings}, {})


def make_topic(cluster: Cluster, topic: str, kind: str = "NORMAL", queues: int = 1) -> None:
    """Makes a topic, and the group that reads it."""
    cluster.make(topic, queues, attributes={"message.type": kind})
    make_group(cluster, group_of(topic))
