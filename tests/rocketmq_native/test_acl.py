"""A real broker (RocketMQ 5, ACL 2.0) that demands signatures takes those of librocketmq."""

from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import Client
from tests.rocketmq_native.conftest import peer_of

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]
TOPIC = "guarded"


@pytest.fixture(scope="module")
def guarded(acl_rocketmq: EmbeddedRocketMQ) -> str:
    """Its name server; it has a topic."""
    with Client(acl_rocketmq.name_server, access_key="root", secret_key="root-secret", timeout=10) as root:
        root.create_topic(TOPIC, queues=1)
    return acl_rocketmq.name_server


def test_a_user_sends_and_consumes(guarded: str, tmp_path: Path) -> None:
    with peer_of(guarded, tmp_path, "root", "root-secret") as peer:
        assert peer.send(TOPIC, b"zero\0byte", tags="tag")["queue_offset"] == 0
        peer.ask(do="consume", topic=TOPIC, group="group")
        (message,) = peer.received(1)
        assert (message["body"], message["tags"]) == (b"zero\0byte", "tag")


def test_a_wrong_secret_confirms_nothing_and_is_not_in_the_log(guarded: str, tmp_path: Path) -> None:
    with peer_of(guarded, tmp_path, "root", "wrong-secret") as peer:
        answer = peer.send(TOPIC, b"x")
        assert answer["error"] == "OutcomeUnknown"
        assert "wrong-secret" not in answer["text"]
    logs = [path.read_text(errors="replace") for path in tmp_path.rglob("*.log*")]
    assert logs
    assert not any("wrong-secret" in log for log in logs)
