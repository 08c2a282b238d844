"""Configurations of RocketMQ Connect's connectors: what is stored is ours, and the same given again is the same."""

from typing import Any

from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.errors import AlreadyExists
from tests.services.config.test_service import problems, refused

THEIRS = {
    "connector.class": "org.apache.rocketmq.connect.redis.connector.RedisSourceConnector",
    "redisAddr": "cache",
    "redisPort": "6379",
    "connect.topicname": "keys",
    "timeout": "3000",
    "path": "wanted by the stub",
}
OURS = {
    "connector.class": "redis_replication_source",
    "url": "redis://cache:6379",
    "snapshot.mode": "initial",
    "topic": "keys",
    "path": "wanted by the stub",
}


async def redis(service: Any) -> None:
    plugin = connector_pb2.Plugin(name=OURS["connector.class"], type=connector_pb2.PLUGIN_TYPE_SOURCE)
    await service.report("worker-2", service.address, plugin)


async def test_a_configuration_of_theirs_is_stored_as_ours_and_says_what_it_became(service: Any) -> None:
    await redis(service)
    answer = await service.stub.CreateConnector(pb.CreateConnectorRequest(name="c", config=THEIRS))
    assert dict(answer.connector.config) == OURS
    became, left_out = answer.warnings
    assert (became.key, left_out.key) == ("connector.class", "timeout")
    assert "is redis_replication_source here, with url=redis://cache:6379" in became.reason
    error = await refused(service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=THEIRS)))
    assert (type(error), error.reason) == (AlreadyExists, "SAME_CONFIG")
    request = pb.UpdateConnectorRequest(name="c", config={**THEIRS, "syncMod": "LAST_OFFSET"})
    changed = await service.stub.UpdateConnector(request)
    assert dict(changed.connector.config) == {**OURS, "snapshot.mode": "never"}
    assert [each.key for each in changed.warnings] == ["connector.class", "timeout"]


async def test_validation_says_the_same_and_stores_nothing(service: Any) -> None:
    await redis(service)
    answer = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="c", config=THEIRS))
    assert not answer.problems
    assert [each.key for each in answer.warnings] == ["connector.class", "timeout"]
    assert not (await service.stub.ListConnectors(pb.ListConnectorsRequest())).connectors


async def test_what_has_no_counterpart_is_refused_together_with_everything_else(service: Any) -> None:
    await redis(service)
    wrong = {**{key: text for key, text in THEIRS.items() if key != "path"}, "offset": "12"}
    assert set(problems(await refused(service.create("a/b", wrong)))) == {"name", "path", "offset"}
    told = problems(
        await refused(service.create("c", {"connector.class": "org.apache.rocketmq.connect.hbase.sink.HBaseSinkConnector"}))
    )
    assert "has no counterpart here" in told["connector.class"]
    await service.create("c", THEIRS)
    changed = pb.UpdateConnectorRequest(name="c", config={**THEIRS, "offset": "12"})
    assert set(problems(await refused(service.stub.UpdateConnector(changed)))) == {"offset"}
    shown = await service.stub.PreviewConnector(pb.PreviewConnectorRequest(config={**THEIRS, "offset": "12"}))
    assert [each.key for each in shown.problems] == ["offset"]
    shown = await service.stub.PreviewConnector(pb.PreviewConnectorRequest(config=THEIRS))
    assert [each.key for each in shown.warnings] == ["connector.class", "timeout"]
