"""Topics and groups of one cluster are made in another one, and kept there as they are."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from connectors.rocketmq.replicator.clusters import Row
from connectors.rocketmq.replicator.following import Following
from connectors.rocketmq.settings_source import RocketmqSettingsSource
from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_sdk import Config, PermanentError, parse
from rocketmq_remoting import Client, Permission, TopicConfig
from tests.conftest import RocketMQFactory
from tests.connectors.rocketmq.clusters import Cluster
from tests.rocketmq_admin import admin_tool

pytestmark = pytest.mark.rocketmq
SOURCE = RocketmqSettingsSource()
BOTH = Permission.READ | Permission.WRITE


@dataclass(frozen=True, slots=True)
class Two:
    """Two clusters of one broker each."""

    there: Client
    here: Client
    servers: tuple[str, str]
    jars: Path

    def config(self, **given: str) -> Config:
        servers = {"name.servers": self.servers[0], "target.name.servers": self.servers[1]}
        return parse(SOURCE.options, {**servers, **{name.replace("_", "."): value for name, value in given.items()}})

    def admin(self, folder: Path, *command: str) -> str:
        return admin_tool(self.jars, self.servers[0], folder, *command)


def address(client: Client) -> str:
    (broker,) = client.admin.brokers()
    assert broker.master is not None
    return broker.master


def topic_of(client: Client, topic: str) -> TopicConfig:
    return client.settings.topics(address(client))[topic]


def group_of(client: Client, group: str) -> Mapping[str, object]:
    return client.settings.groups(address(client))[group]


def told(rows: Sequence[Row]) -> list[tuple[object, ...]]:
    return [(row["name"], row["broker"], row["outcome"], row["what"]) for row in rows]


@pytest.fixture(scope="module")
def servers(rocketmq_factory: RocketMQFactory) -> tuple[EmbeddedRocketMQ, EmbeddedRocketMQ]:
    return rocketmq_factory({}), rocketmq_factory({})


@pytest.fixture
def two(servers: tuple[EmbeddedRocketMQ, EmbeddedRocketMQ]) -> Iterator[Two]:
    names = servers[0].name_server, servers[1].name_server
    with Client(names[0]) as there, Client(names[1]) as here:
        yield Two(there, here, names, servers[0].jars)


@pytest.mark.slow
def test_topics_are_made_and_kept_as_they_are_there(two: Two, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    two.there.create_topic(topic, queues=4, attributes={"message.type": "FIFO"})
    two.there.create_topic(f"{topic}-not-meant", queues=1)
    with closing(Following(two.config(topics_pattern=f"{topic}.*", topics_exclude=".*-not-meant"), logging.getLogger("t"))) as it:
        made = "made with readQueueNums 4, writeQueueNums 4, perm RW, message.type FIFO, queue.type SimpleCQ"
        assert told(it.topics_followed()) == [(topic, "broker-0", "made", made)]
        assert topic_of(two.here, topic) == topic_of(two.there, topic)
        assert not two.here.topic_exists(f"{topic}-not-meant")
        assert it.topics_followed() == []
        two.there.settings.set_topic(
            address(two.there), replace(topic_of(two.there, topic), write_queues=6), {"message.type": "DELAY"}
        )
        changed = "writeQueueNums 4 -> 6; message.type FIFO -> DELAY"
        assert told(it.topics_followed()) == [(topic, "broker-0", "changed", changed)]
        assert topic_of(two.here, topic) == topic_of(two.there, topic)
        # Whoever changes it here has it changed back.
        two.here.settings.set_topic(address(two.here), topic_of(two.here, topic), {"message.type": "NORMAL"})
        assert told(it.topics_followed()) == [(topic, "broker-0", "changed", "message.type NORMAL -> DELAY")]
        two.there.delete_topic(topic)
        gone = "is not there any more; here nothing is deleted"
        assert told(it.topics_followed()) == [(topic, "", "gone", gone)]
        assert it.topics_followed() == []
    assert two.here.topic_exists(topic)
    assert [record.levelname for record in caplog.records if record.name == "t"] == ["INFO", "INFO", "INFO", "WARNING"]


@pytest.mark.slow
def test_what_differs_and_can_not_or_may_not_be_changed_is_told_once_and_when_it_is_no_more(two: Two, topic: str) -> None:
    two.there.create_topic(topic, queues=2, attributes={"cleanup.policy": "COMPACTION"}, permission=Permission.READ)
    two.here.create_topic(topic, queues=4)
    before = topic_of(two.here, topic)
    with closing(Following(two.config(topics=topic))) as it:
        ((_, _, outcome, what),) = told(it.topics_followed())
        assert outcome == "differs"
        assert what == (
            "readQueueNums is 4, there 2: queues are never taken away; writeQueueNums is 4, there 2: queues are never taken away; "
            "perm is RW, there R: rights are taken away with rights.narrow=true alone; "
            "cleanup.policy is DELETE, there COMPACTION: a topic keeps what it was made with"
        )
        assert it.topics_followed() == []
        assert topic_of(two.here, topic) == before
        two.here.delete_topic(topic)
        two.here.create_topic(topic, queues=2, attributes={"cleanup.policy": "COMPACTION"}, permission=Permission.READ)
        assert told(it.topics_followed()) == [(topic, "broker-0", "same", "")]
    two.here.settings.set_topic(address(two.here), replace(topic_of(two.here, topic), permission=BOTH), {})
    with closing(Following(two.config(topics=topic, rights_narrow="true"))) as it:
        assert told(it.topics_followed()) == [(topic, "broker-0", "changed", "perm RW -> R")]
    assert topic_of(two.here, topic).permission == Permission.READ


@pytest.mark.slow
def test_producers_find_the_queues_of_an_ordered_topic_here_too(two: Two, topic: str, tmp_path: Path) -> None:
    two.admin(tmp_path, "updateTopic", "-c", "rocketconnect", "-t", topic, "-r", "3", "-w", "3", "-o", "true")
    assert two.there.settings.order(topic) == "broker-0:3"
    with closing(Following(two.config(topics=topic, topic_template="east-${topic}"))) as it:
        assert [(row["broker"], row["outcome"]) for row in it.topics_followed()] == [("broker-0", "made"), ("", "changed")]
        assert two.here.settings.order(f"east-{topic}") == "broker-0:3"
        assert topic_of(two.here, f"east-{topic}").order
        two.admin(tmp_path, "updateTopic", "-c", "rocketconnect", "-t", topic, "-r", "5", "-w", "5", "-o", "true")
        queues = "queues of the order at the name servers broker-0:3 -> broker-0:5"
        assert (topic, "", "changed", queues) in told(it.topics_followed())
        assert it.topics_followed() == []
        two.there.settings.set_order(topic, None)
        two.there.settings.set_topic(address(two.there), replace(topic_of(two.there, topic), order=False), {})
        assert [row["what"] for row in it.topics_followed()] == [
            "order true -> false",
            "queues of the order at the name servers broker-0:5 -> none",
        ]
    assert two.here.settings.order(f"east-{topic}") is None


@pytest.mark.slow
def test_groups_are_made_and_kept_as_they_are_there(two: Two, topic: str, tmp_path: Path) -> None:
    group = f"readers-of-{topic}"
    two.admin(tmp_path, "updateSubGroup", "-c", "rocketconnect", "-g", group, "-q", "2", "-r", "3", "-m", "false")
    with closing(Following(two.config(groups_pattern=f".*{topic}"))) as it:
        assert told(it.groups_followed()) == [(group, "broker-0", "made", "made")]
        assert group_of(two.here, group) == group_of(two.there, group)
        assert it.groups_followed() == []
        changed = {**group_of(two.there, group), "retryMaxTimes": 7, "consumeEnable": False, "consumeTimeoutMinute": 30}
        two.there.settings.set_group(address(two.there), changed, {})
        assert told(it.groups_followed()) == [
            (group, "broker-0", "changed", "consumeTimeoutMinute 15 -> 30; retryMaxTimes 3 -> 7"),
        ]
        right = "consumeEnable is true, there false: rights are taken away with rights.narrow=true alone"
        assert told(it.groups_followed()) == [(group, "broker-0", "differs", right)]
    assert group_of(two.here, group) == {**changed, "consumeEnable": True}


@pytest.mark.slow
def test_nothing_of_rocketmq_itself_is_touched_whatever_the_pattern_is(two: Two, topic: str) -> None:
    two.there.create_topic(topic, queues=1)
    topics, groups = two.here.settings.topics(address(two.here)), two.here.settings.groups(address(two.here))
    two.there.settings.set_group(address(two.there), {**group_of(two.there, "TOOLS_CONSUMER"), "retryMaxTimes": 1}, {})
    with closing(Following(two.config(topics_pattern=".*", groups_pattern=".*"))) as it:
        own = {"SELF_TEST_TOPIC", "broker-0", "rocketconnect", "rocketconnect_REPLY_TOPIC"}
        assert own <= set(topics)
        assert not own & set(it.topics())
        it.topics_followed()
        it.groups_followed()
    after = two.here.settings.topics(address(two.here))
    assert {name: after[name] for name in topics} == topics
    assert topic in after
    groups_after = two.here.settings.groups(address(two.here))
    assert {name: groups_after[name] for name in groups} == groups


@pytest.mark.slow
def test_without_settings_sync_it_only_tells_what_would_be_done(two: Two, topic: str) -> None:
    two.there.create_topic(topic, queues=1)
    two.there.create_group(topic)
    with closing(Following(two.config(topics=topic, groups=topic, settings_sync="false"))) as it:
        rows = [*it.topics_followed(), *it.groups_followed()]
    assert [row["outcome"] for row in rows] == ["differs", "differs"]
    assert not two.here.topic_exists(topic)
    assert topic not in two.here.settings.groups(address(two.here))


@pytest.mark.slow
def test_what_a_broker_does_not_take_is_told_and_the_others_are_followed(two: Two, topic: str) -> None:
    (ours, theirs) = (f"{topic}-a", f"{topic}-b")
    for name in (ours, theirs):
        two.there.create_topic(name, queues=1)
    with closing(Following(two.config(topics=f"{ours},{theirs}"))) as it:
        known = it.topics()[ours]
        # As a newer broker would have it.
        it.topics = lambda: {ours: replace(known, attributes={"of.the.future": "1"}), theirs: known}  # type: ignore[method-assign]
        rows = told(it.topics_followed())
        assert [(name, outcome) for name, _, outcome, _ in rows] == [(ours, "failed"), (theirs, "made")]
        assert "unsupported key: of.the.future" in str(rows[0][3])
        assert it.topics_followed() == []


@pytest.mark.slow
def test_a_setting_that_a_broker_forgets_is_told(two: Two, topic: str) -> None:
    two.there.create_group(topic)
    two.here.create_group(topic)
    with closing(Following(two.config(groups=topic))) as it:
        known = it.groups()[topic]
        it.groups = lambda: {topic: {**known, "groupRetryPolicy": {"type": "CUSTOMIZED", "of.the.future": 1}}}  # type: ignore[method-assign]
        outcomes = [row["outcome"] for _ in range(3) for row in it.groups_followed()]
    assert outcomes == ["changed", "failed"]


def test_what_is_missing_or_of_rocketmq_itself_is_told_at_once(cluster: Cluster, topic: str) -> None:
    def keys(**given: str) -> set[tuple[str, bool]]:
        servers = {"name.servers": cluster.servers, "target.name.servers": cluster.servers}
        config = parse(SOURCE.options, {**servers, **{name.replace("_", "."): value for name, value in given.items()}})
        return {(problem.key, problem.is_warning) for problem in SOURCE.check(config)}

    assert keys(topic_template="", target_access_key="user") == {
        ("target.secret.key", False),
        ("topics", False),
        ("topic.template", False),
    }
    assert keys(topics="TBW102,%RETRY%g", groups="TOOLS_CONSUMER") == {("topics", False), ("groups", False)}
    assert keys(topics=topic, groups=f"no-{topic}") == {("topics", True), ("groups", True)}
    cluster.make(topic)
    assert keys(topics=topic) == set()


def test_a_look_at_one_cluster_as_both_changes_nothing(cluster: Cluster, topic: str) -> None:
    cluster.make(topic, 3)
    config = {"name.servers": cluster.servers, "target.name.servers": cluster.servers, "topics": topic, "groups.pattern": topic}
    with closing(Following(parse(SOURCE.options, config))) as it:
        assert it.topics_followed() == []
        assert it.groups_followed() == []


def test_each_of_topics_and_groups_is_a_stream_where_it_is_meant(cluster: Cluster) -> None:
    servers = {"name.servers": cluster.servers, "target.name.servers": cluster.servers}
    for given, streams in (({"topics": "a"}, ["topics"]), ({"groups.pattern": ".*"}, ["groups"])):
        assert [each.name for each in SOURCE.streams(parse(SOURCE.options, {**servers, **given}))] == streams


@pytest.mark.slow
def test_a_user_needs_the_right_to_create_topics_here_and_is_told_where_it_is_missing(
    servers: tuple[EmbeddedRocketMQ, EmbeddedRocketMQ], acl_rocketmq: EmbeddedRocketMQ, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tools.yml").write_text("accessKey: root\nsecretKey: root-secret\n", encoding="utf-8")

    def admin(*command: str) -> None:
        admin_tool(acl_rocketmq.jars, acl_rocketmq.name_server, tmp_path, *command, "-c", "rocketconnect")

    admin("createUser", "-u", "follower", "-p", "follower-secret", "-t", "Normal")
    admin("createAcl", "-s", "User:follower", "-r", "Topic:allowed*", "-a", "Create", "-d", "Allow")
    given = {
        "name.servers": servers[0].name_server,
        "target.name.servers": acl_rocketmq.name_server,
        "target.access.key": "follower",
        "topics.pattern": f".*-{topic}",
    }
    with Client(servers[0].name_server) as there:
        for name in ("allowed", "forbidden"):
            there.create_topic(f"{name}-{topic}", queues=1)
        right = parse(SOURCE.options, {**given, "target.secret.key": "${env:S}"}).replaced(secret("follower"))
        with closing(Following(right)) as it:
            rows = told(it.topics_followed())
        assert [(name, outcome) for name, _, outcome, _ in rows] == [
            (f"allowed-{topic}", "made"),
            (f"forbidden-{topic}", "failed"),
        ]
        assert f"follower has no permission to access Topic:forbidden-{topic}" in str(rows[1][3])
        wrong = parse(SOURCE.options, {**given, "target.secret.key": "${env:S}"}).replaced(secret("wrong"))
        with (
            closing(Following(wrong)) as it,
            pytest.raises(PermanentError, match=r"Correct access\.key and secret\.key"),
        ):
            it.topics_followed()


def secret(user: str) -> Callable[[str], str]:
    return lambda text: f"{user}-secret" if text == "${env:S}" else text
