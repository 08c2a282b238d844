"""Who creates a connector is told of the deleted one of its name that did the same work."""

from collections.abc import Sequence
from typing import Any

import pytest
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.errors import Unavailable

GOOD = {"connector.class": "file_source", "path": "/data/in.txt", "topics": "a,b"}


async def made(service: Any, config: dict[str, str], **more: Any) -> pb.CreateConnectorResponse:
    answer: pb.CreateConnectorResponse = await service.stub.CreateConnector(
        pb.CreateConnectorRequest(name="c", config=config, **more)
    )
    return answer


async def was_there(service: Any, config: dict[str, str], positions: dict[str, str] | None = None) -> str:
    uid = (await made(service, config)).connector.uid
    service.positions.of[uid] = {"file 1": "[70]", "~task/0": ""} if positions is None else positions
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="c"))
    return str(uid)


async def validated(service: Any, config: dict[str, str], name: str = "c") -> Sequence[connector_pb2.Problem]:
    answer = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name=name, config=config))
    return list(answer.warnings)


async def test_a_source_that_is_made_again_is_told_that_it_sends_again_and_how_it_goes_on(service: Any) -> None:
    uid = await was_there(service, GOOD)
    told = await validated(service, GOOD)
    (warning,) = (await made(service, GOOD)).warnings
    assert told == [warning]
    assert warning.key == "name"
    assert f"(uid {uid}, deleted at 2023-11-14 22:13:20Z) read the same into the same topic up to file 1 [70]: " in warning.reason
    assert "sends its records again" in warning.reason
    assert f"`rocketconnect connector create c --adopt-uid {uid}`" in warning.fix


async def test_a_sink_is_told_that_it_writes_to_what_it_alone_may_write_again(service: Any) -> None:
    config = {**GOOD, "owned": "/out.csv"}
    await was_there(
        service, config, {"orders/broker/0": "[5]", "orders/broker/1": "[6]", "t/b/0": "[1]", "t/b/1": "[2]", "t/b/2": "[0]"}
    )
    (warning,) = await validated(service, {**config, "path": "elsewhere"})
    assert "wrote to the same target up to orders/broker/0 [5], orders/broker/1 [6], t/b/0 [1] and 1 more: " in warning.reason
    assert "writes its records there again" in warning.reason


@pytest.mark.parametrize("changed", [{"path": "/data/other.txt"}, {"topics": "d"}])
async def test_nothing_is_told_where_the_place_or_the_topic_is_another(service: Any, changed: dict[str, str]) -> None:
    await was_there(service, GOOD)
    assert await validated(service, {**GOOD, **changed}) == []
    assert not (await made(service, {**GOOD, **changed})).warnings


async def test_nothing_is_told_where_a_sink_writes_another_target(service: Any) -> None:
    await was_there(service, {**GOOD, "owned": "/out.csv"})
    assert await validated(service, {**GOOD, "owned": "/other.csv"}) == []


async def test_one_topic_in_common_and_other_names_of_an_option_are_the_same_work(service: Any) -> None:
    await was_there(service, {**GOOD, "filename": "x"})
    assert len(await validated(service, {**GOOD, "topics": "b; e"})) == 1


@pytest.mark.parametrize("positions", [{}, {"~task/0": "[7]"}, {"t/b/0": "[0]", "t/b/1": ""}])
async def test_nothing_is_told_of_one_that_has_read_nothing(service: Any, positions: dict[str, str]) -> None:
    await was_there(service, GOOD, positions)
    assert await validated(service, GOOD) == []


async def test_a_position_service_that_is_away_leaves_the_rest_of_what_is_told(service: Any) -> None:
    await was_there(service, GOOD)
    service.positions.fails_with = Unavailable("GONE", "gone")
    (warning,) = await validated(service, GOOD)
    assert "read the same into the same topic: this one begins anew" in warning.reason


async def test_whoever_adopts_lives_or_has_another_name_is_told_nothing(service: Any) -> None:
    uid = await was_there(service, GOOD)
    assert await validated(service, GOOD, "d") == []
    assert not (await made(service, GOOD, adopt_uid=uid)).warnings
    assert await validated(service, GOOD) == []


async def test_the_last_of_several_is_meant(service: Any) -> None:
    await was_there(service, GOOD)
    last = await was_there(service, GOOD, {"file 1": "90"})
    (warning,) = await validated(service, GOOD)
    assert last in warning.reason
