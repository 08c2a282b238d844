"""ACL: a real broker (RocketMQ 5, ACL 2.0) that demands signatures and checks what a user may do."""

import logging
import os
import subprocess

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import Client, Message, NoPermission, Unauthenticated, encode_batch

pytestmark = pytest.mark.rocketmq


@pytest.fixture(scope="module")
def guarded(acl_rocketmq: EmbeddedRocketMQ, tmp_path_factory: pytest.TempPathFactory) -> EmbeddedRocketMQ:
    """A broker with ACL, a topic `allowed`, a topic `forbidden` and a user who may use the first."""
    server = acl_rocketmq
    with Client(server.name_server, access_key="root", secret_key="root-secret", timeout=10) as root:
        for topic in ("allowed", "forbidden"):
            root.create_topic(topic, queues=1)
    home = tmp_path_factory.mktemp("tools")
    (home / "conf").mkdir()
    (home / "conf" / "tools.yml").write_text("accessKey: root\nsecretKey: root-secret\n")

    def admin(*command: str) -> None:
        subprocess.run(
            [
                "java",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                f"-Duser.home={home}",
                "-cp",
                f"{server.jars}/*",
                "org.apache.rocketmq.tools.command.MQAdminStartup",
                *command,
                "-n",
                server.name_server,
                "-c",
                "rocketconnect",
            ],
            env={**os.environ, "ROCKETMQ_HOME": str(home)},
            check=True,
            timeout=60,
            capture_output=True,
        )

    admin("createUser", "-u", "worker", "-p", "worker-secret", "-t", "Normal")
    admin("createAcl", "-s", "User:worker", "-r", "Topic:allowed,Group:*", "-a", "Pub,Sub,Get", "-d", "Allow")
    return server


def test_a_user_sends_and_pulls_what_is_allowed(guarded: EmbeddedRocketMQ) -> None:
    with Client(guarded.name_server, access_key="worker", secret_key="worker-secret", timeout=10) as client:
        (queue,) = client.queues("allowed", writable=True)
        client.send(queue, Message("größe".encode(), tags="t", keys="k", properties={"ß": "ä"}))
        client.send_batch(queue, encode_batch([b"a", b"b"]))
        result = client.pull(queue, 0, suspend=5)
        assert result.batch.bodies[0].decode() == "größe"
        client.commit_offset("group", queue, 1)
        assert client.committed_offset("group", queue) == 1


def test_a_user_is_kept_from_what_is_not_allowed(guarded: EmbeddedRocketMQ) -> None:
    with Client(guarded.name_server, access_key="root", secret_key="root-secret", timeout=10) as root:
        (queue,) = root.queues("forbidden", writable=True)
    with Client(guarded.name_server, access_key="worker", secret_key="worker-secret", timeout=10) as client:
        client._routes.cluster()
        with pytest.raises(NoPermission, match="what the access key may do"):
            client.send(queue, Message(b"x"))
        with pytest.raises(NoPermission, match="what the access key may do"):
            client.pull(queue, 0)


@pytest.mark.parametrize("access_key", ["root", "nobody"])
def test_a_wrong_secret_is_told_and_never_shown(
    guarded: EmbeddedRocketMQ, access_key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Client(guarded.name_server, access_key=access_key, secret_key="wrong-secret", timeout=10) as client:
        (queue,) = client.queues("allowed", writable=True)
        with pytest.raises(Unauthenticated, match="check access key and secret key") as caught:
            client.send(queue, Message(b"x"))
        held = repr(client.__dict__) + repr(client._network.__dict__)
    assert access_key in held
    assert "wrong-secret" not in str(caught.value) + caplog.text + held


def test_a_client_without_an_access_key_is_told_to_give_one(guarded: EmbeddedRocketMQ) -> None:
    with Client(guarded.name_server, timeout=10) as client:
        (queue,) = client.queues("allowed", writable=True)
        with pytest.raises(Unauthenticated, match="demands an access key"):
            client.send(queue, Message(b"x"))


def test_a_topic_that_is_there_is_changed_with_a_signature(guarded: EmbeddedRocketMQ) -> None:
    with Client(guarded.name_server, access_key="root", secret_key="root-secret", timeout=10) as root:
        root.create_topic("grows", queues=1)
        # No attribute is sent with it.
        root.create_topic("grows", queues=2)
        assert len(root.queues("grows")) == 2
