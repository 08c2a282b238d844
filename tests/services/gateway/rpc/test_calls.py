"""What a program sees that calls the services over gRPC at the port of REST."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import grpc.aio
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.state.v1 import state_service_pb2 as state
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub
from rocketconnect.topic.v1 import topic_service_pb2 as topic
from rocketconnect.topic.v1.topic_service_pb2_grpc import TopicServiceStub

from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
Dialled = Callable[[httpx.AsyncClient], grpc.aio.Channel]
FILE = {"connector.class": "file_source", "connect.topicname": "t", "filename": "/tmp/in"}


async def ends(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value


async def test_what_is_created_over_grpc_is_seen_over_rest_on_the_same_port(rest: httpx.AsyncClient, dialled: Dialled) -> None:
    async with dialled(rest) as opened:
        configs = ConfigServiceStub(opened)
        made = await configs.CreateConnector(config.CreateConnectorRequest(name="c", config=FILE))
        assert made.connector.revision == 1
        listed = await configs.ListConnectors(config.ListConnectorsRequest())
        assert [each.name for each in listed.connectors] == ["c"]
        assert (await rest.get("/v1/connectors/c")).json()["connector"]["uid"] == made.connector.uid
        changes = await configs.ListChanges(config.ListChangesRequest(name="c"))
        assert changes.changes[0].author == "127.0.0.1"


async def test_a_watch_brings_each_change_and_its_end_reaches_the_service(
    system: Any, rest: httpx.AsyncClient, dialled: Dialled
) -> None:
    system.states.say("c", state.ConnectorState(connector="c", state=connector_pb2.STATE_STARTING))
    async with dialled(rest) as opened:
        watch = StateServiceStub(opened).WatchConnectorState(state.WatchConnectorStateRequest(connector="c"))
        answers = aiter(watch)
        assert (await anext(answers)).state.state == connector_pb2.STATE_STARTING
        system.states.say("c", state.ConnectorState(connector="c", state=connector_pb2.STATE_RUNNING))
        assert (await anext(answers)).state.state == connector_pb2.STATE_RUNNING
        assert system.states.watching == 1
        watch.cancel()
        async with asyncio.timeout(60):
            while system.states.watching:
                await asyncio.sleep(0.01)


async def test_who_watches_and_does_not_read_holds_the_service_up_and_fills_no_memory(
    system: Any, rest: httpx.AsyncClient, dialled: Dialled
) -> None:
    system.states.say("c", state.ConnectorState(connector="c", tasks=[state.TaskState(trace="x" * 100_000)]))
    system.states.floods = True
    async with dialled(rest) as opened:
        watch = StateServiceStub(opened).WatchConnectorState(state.WatchConnectorStateRequest(connector="c"))
        answers = aiter(watch)
        await anext(answers)
        told = -1
        async with asyncio.timeout(60):
            while told < (told := system.states.told):
                await asyncio.sleep(0.3)
        # Some windows and buffers of sockets on the way, of 64 KiB to some MiB each.
        assert told < 400
        watch.cancel()


async def test_an_error_has_the_code_the_text_and_the_details_that_the_service_gave(
    system: Any, rest: httpx.AsyncClient, dialled: Dialled
) -> None:
    def calls(opened: dict[str, grpc.aio.Channel]) -> list[Any]:
        return [
            ConfigServiceStub(opened["config"]).CreateConnector(config.CreateConnectorRequest(name="no such name")),
            ConfigServiceStub(opened["config"]).CreateConnector(
                config.CreateConnectorRequest(name="c", config={"connector.class": "file_source", "max.tasks": "many"})
            ),
            ConfigServiceStub(opened["config"]).CreateConnector(
                config.CreateConnectorRequest(name="c", config={"connector.class": "x"})
            ),
            ConfigServiceStub(opened["config"]).GetConnector(config.GetConnectorRequest(name="none")),
            StateServiceStub(opened["state"]).GetConnectorState(state.GetConnectorStateRequest(connector="none")),
            PositionServiceStub(opened["position"]).ResetPositions(position.ResetPositionsRequest(connector="c")),
            # The service of this test does not have it.
            PositionServiceStub(opened["position"]).ListPositionSnapshots(position.ListPositionSnapshotsRequest(connector="c")),
        ]

    async def told(opened: dict[str, grpc.aio.Channel]) -> list[tuple[Any, ...]]:
        errors = [await ends(call) for call in calls(opened)]
        return [(each.code(), each.details(), dict(each.trailing_metadata()).get("grpc-status-details-bin")) for each in errors]

    services = ("config", "state", "position")
    direct = {name: grpc.aio.insecure_channel(system.addresses[f"{name}_address"]) for name in services}
    async with dialled(rest) as opened:
        through = await told(dict.fromkeys(services, opened))
    assert through == await told(direct)
    assert {code for code, *_ in through} >= {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.UNIMPLEMENTED,
    }
    for each in direct.values():
        await each.close()


async def test_a_service_or_an_executor_that_is_away_is_named(system: Any, serving: Serving, dialled: Dialled) -> None:
    async with serving(system.settings(state_address="127.0.0.1:1", read_seconds=1)) as rest, dialled(rest) as opened:
        error = await ends(StateServiceStub(opened).ListConnectorStates(state.ListConnectorStatesRequest()))
        assert (error.details() or "").startswith("the state service did not answer in 1 s")
        error = await ends(TopicServiceStub(opened).ListTopics(topic.ListTopicsRequest()))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "only an executor can do this" in (error.details() or "")


async def test_the_deadline_of_a_caller_counts_and_without_one_that_of_the_gateway(
    system: Any, serving: Serving, dialled: Dialled
) -> None:
    system.workers.delay = 1
    async with serving(system.settings(read_seconds=0.3)) as rest, dialled(rest) as opened:
        stub = ClusterServiceStub(opened)
        assert (await ends(stub.ListWorkers(cluster.ListWorkersRequest()))).code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert (await ends(stub.ListWorkers(cluster.ListWorkersRequest(), timeout=0.2))).code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert (await stub.ListWorkers(cluster.ListWorkersRequest(), timeout=60)).workers


async def test_a_message_that_no_service_takes_is_not_taken_here(rest: httpx.AsyncClient, dialled: Dialled) -> None:
    large = config.CreateConnectorRequest(name="c", config={"a": "x" * (17 * 1024 * 1024)})
    async with dialled(rest) as opened:
        error = await ends(ConfigServiceStub(opened).CreateConnector(large))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_before_the_first_executor_has_joined_it_says_that_it_starts(system: Any, serving: Serving, dialled: Dialled) -> None:
    system.workers.workers = []
    async with serving(system.settings(await_executor=True)) as rest, dialled(rest) as opened:
        error = await ends(ConfigServiceStub(opened).ListConnectors(config.ListConnectorsRequest()))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "no executor has joined yet" in (error.details() or "")


async def test_it_tells_the_health_of_what_is_behind_it(system: Any, serving: Serving, dialled: Dialled) -> None:
    async with serving(system.settings(state_address="127.0.0.1:1")) as rest, dialled(rest) as opened:
        stub: Any = health_pb2_grpc.HealthStub(opened)
        states = {}
        for service in ("", "rocketconnect.config.v1.ConfigService", "rocketconnect.state.v1.StateService"):
            states[service] = (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status
        serving_, not_serving = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
        assert list(states.values()) == [not_serving, serving_, not_serving]
        assert (await ends(stub.Check(health_pb2.HealthCheckRequest(service="x")))).code() is grpc.StatusCode.NOT_FOUND
        watch = aiter(stub.Watch(health_pb2.HealthCheckRequest(service="rocketconnect.config.v1.ConfigService")))
        assert (await anext(watch)).status == serving_
