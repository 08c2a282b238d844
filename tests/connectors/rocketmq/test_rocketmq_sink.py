import pytest

from connectors.rocketmq.client import client_of, told
from connectors.rocketmq.sink import RocketmqSink
from rocketconnect_sdk import PermanentError, parse
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.permissions import connections
from tests.connectors.rocketmq.clusters import Cluster, options


def problems(cluster: Cluster, **given: str) -> dict[str, str]:
    own = {"connector.class": "rocketmq_sink", "topics": "t"}
    checked = check_connector({**own, **options(cluster, given)})
    return {each.key: str(each) for each in checked.problems}


@pytest.mark.rocketmq
def test_what_would_change_messages_is_refused_with_the_configuration(cluster: Cluster) -> None:
    assert problems(cluster) == {}
    for key, value in {
        "transforms": "one",
        "query": "SELECT id FROM records",
        "engine": "spark",
        "value.converter": "json",
    }.items():
        found = problems(cluster, **{key: value, "transforms.one.type": "set_null"} if key == "transforms" else {key: value})
        assert "whole messages" in found[key] or "copied as they are" in found[key]
    assert "is not there" in problems(cluster, target_topic="nobody-made-it", target_create="false")["target.topic"]


def test_a_server_that_connectors_may_not_speak_to_is_refused_wherever_its_name_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(host: str, port: int) -> None:
        raise connections.HostRefused(f"{host}:{port} is none of the hosts")

    monkeypatch.setattr(connections, "addresses", refused)
    sink = RocketmqSink()
    config = parse(sink.options, {"name.servers": "10.9.9.9:9876", "source.cluster": "A", "target.cluster": "B"})
    client = client_of(config, "g")
    with pytest.raises(PermanentError, match=r"10\.9\.9\.9:9876 is none of the hosts"), told("there"):
        client.topics()
    client.close()
