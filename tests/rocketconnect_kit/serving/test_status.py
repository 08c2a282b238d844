import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc

from rocketconnect_kit import errors
from rocketconnect_kit.errors import FieldProblem
from rocketconnect_kit.serving.status import decode, remote_errors
from rocketconnect_kit.testing import serve_for_test

EVERY_ERROR = [
    errors.NotFound("CONNECTOR_NOT_FOUND", "no such connector; list them", connector="x"),
    errors.AlreadyExists("CONNECTOR_EXISTS", "there is one", connector="x"),
    errors.Aborted("ETAG_MISMATCH", "read it again"),
    errors.FailedPrecondition("FENCED", "stop the task", generation="7"),
    errors.Unavailable("NO_CAPABLE_EXECUTOR", "start an executor"),
    errors.ResourceExhausted("TOO_MUCH", "less"),
    errors.DeadlineExceeded("PLUGIN_TIMEOUT", "too slow"),
    errors.Unauthenticated("NO_TOKEN", "say who you are"),
    errors.PermissionDenied("NOT_ALLOWED", "ask"),
    errors.Internal("INTERNAL", "a defect"),
]


class Raising(rpc.ConfigServiceServicer):
    """A real service whose answers are the error that a test chose."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def GetConnector(self, request: pb.GetConnectorRequest, context: Any) -> pb.GetConnectorResponse:
        raise self.error

    async def WatchConnectors(self, request: pb.WatchConnectorsRequest, context: Any) -> AsyncIterator[pb.WatchConnectorsResponse]:
        yield pb.WatchConnectorsResponse(snapshot=True)
        raise self.error


async def answer(error: Exception) -> errors.ServiceError:
    async with serve_for_test(lambda server: rpc.add_ConfigServiceServicer_to_server(Raising(error), server)) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            await rpc.ConfigServiceStub(channel).GetConnector(pb.GetConnectorRequest(name="x"), timeout=60)
    return decode(caught.value)


@pytest.mark.parametrize("error", EVERY_ERROR, ids=lambda error: type(error).__name__)
async def test_a_domain_error_arrives_as_the_same_error(error: errors.ServiceError) -> None:
    arrived = await answer(error)
    assert type(arrived) is type(error)
    assert (arrived.reason, arrived.message, arrived.metadata) == (error.reason, error.message, error.metadata)


async def test_all_problems_of_an_invalid_argument_arrive_with_value_and_fix() -> None:
    problems = [
        FieldProblem("name", "a/b", "has a slash", "use letters"),
        FieldProblem("config[max.tasks]", "x", "is no number", "1"),
    ]
    arrived = await answer(errors.InvalidArgument("CONFIG_INVALID", "2 problems", problems))
    assert isinstance(arrived, errors.InvalidArgument)
    assert list(arrived.problems) == problems


async def test_an_unexpected_exception_is_hidden_behind_an_id_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        arrived = await answer(ValueError("the password is hunter2"))
    assert isinstance(arrived, errors.Internal)
    assert "hunter2" not in arrived.message
    assert len(arrived.metadata["error_id"]) == 12
    assert arrived.metadata["error_id"] in arrived.message


async def test_an_error_in_the_middle_of_a_stream_arrives_after_the_messages_before_it() -> None:
    error = errors.Unavailable("STORE_UNAVAILABLE", "later")
    async with serve_for_test(lambda server: rpc.add_ConfigServiceServicer_to_server(Raising(error), server)) as channel:
        stream = rpc.ConfigServiceStub(channel).WatchConnectors(pb.WatchConnectorsRequest(), timeout=60)
        got = []
        with pytest.raises(errors.Unavailable) as caught, remote_errors():
            async for message in stream:
                got.append(message)
    assert [message.snapshot for message in got] == [True]
    assert caught.value.reason == "STORE_UNAVAILABLE"


async def test_an_error_of_another_service_passes_through_with_its_reason() -> None:
    behind = Raising(errors.FailedPrecondition("FENCED", "stop"))
    async with serve_for_test(lambda server: rpc.add_ConfigServiceServicer_to_server(behind, server)) as inner:

        class Front(rpc.ConfigServiceServicer):
            async def GetConnector(self, request: pb.GetConnectorRequest, context: Any) -> pb.GetConnectorResponse:
                return await rpc.ConfigServiceStub(inner).GetConnector(request)

        async with serve_for_test(lambda server: rpc.add_ConfigServiceServicer_to_server(Front(), server)) as channel:
            with pytest.raises(errors.FailedPrecondition, match="stop") as caught, remote_errors():
                await rpc.ConfigServiceStub(channel).GetConnector(pb.GetConnectorRequest(name="x"), timeout=60)
    assert caught.value.reason == "FENCED"


async def test_a_lost_connection_decodes_to_unavailable() -> None:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        with pytest.raises(errors.Unavailable) as caught, remote_errors():
            await rpc.ConfigServiceStub(channel).GetConnector(pb.GetConnectorRequest(name="x"), timeout=60)
    assert caught.value.reason == "UNAVAILABLE"


def test_a_call_that_a_draining_server_drops_decodes_to_unavailable() -> None:
    dropped = grpc.aio.AioRpcError(grpc.StatusCode.CANCELLED, grpc.aio.Metadata(), grpc.aio.Metadata(), "CANCELLED")
    assert (type(decode(dropped)), decode(dropped).code) == (errors.Unavailable, "UNAVAILABLE")


async def test_a_method_that_nobody_implements_is_not_an_internal_error_of_ours() -> None:
    async with serve_for_test(lambda server: rpc.add_ConfigServiceServicer_to_server(Raising(ValueError()), server)) as channel:
        unknown: Any = channel.unary_unary("/rocketconnect.config.v1.ConfigService/Nonsense")
        with pytest.raises(grpc.RpcError) as caught:
            await unknown(b"", timeout=2)
    assert isinstance(caught.value, grpc.aio.AioRpcError)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_field_problem_reads_as_one_sentence() -> None:
    assert str(FieldProblem("name", "a/b", "has a slash", "use letters")) == "name: has a slash; use letters"
    assert json.dumps(str(FieldProblem("", "", "is empty", ""))) == '"is empty"'


async def test_a_caller_that_gives_up_does_not_log_an_error(caplog: pytest.LogCaptureFixture) -> None:
    class Slow(rpc.ConfigServiceServicer):
        async def GetConnector(self, request: pb.GetConnectorRequest, context: Any) -> pb.GetConnectorResponse:
            await asyncio.sleep(30)
            return pb.GetConnectorResponse()

    async with serve_for_test(lambda server: rpc.add_ConfigServiceServicer_to_server(Slow(), server)) as channel:
        with pytest.raises(errors.DeadlineExceeded), remote_errors():
            await rpc.ConfigServiceStub(channel).GetConnector(pb.GetConnectorRequest(name="x"), timeout=0.2)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
