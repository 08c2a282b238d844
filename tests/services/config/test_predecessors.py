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
    assert f"(1) To go on from there: `rocketconnect connector create c --adopt-uid {uid}`" in warning.fix


async def test_a_sink_is_told_that_it_writes_to_what_it_alone_may_write_again(service: Any) -> None:
    config = {**GOOD, "owned": "/out.csv"}
    await was_there(
        service, config, {"orders/broker/0": "[5]", "orders/broker/1": "[6]", "t/b/0": "[1]", "t/b/1": "[2]", "t/b/2": "[0]"}
    )
    (warning,) = await validated(service, {**config, "path": "elsewhere"})
    assert "wrote to the same target up to orders/broker/0 [5], orders/broker/1 [6], t/b/0 [1] and 1 more: " in warning.reason
    assert "writes its records there again" in warning.reason


OWNING = {**GOOD, "owned": "/out.csv"}


async def test_a_sink_is_told_of_a_deleted_one_of_another_name_that_wrote_there_from_one_of_its_topics(service: Any) -> None:
    uid = await was_there(service, OWNING, {"b/broker/0": "[5]"})
    request = pb.CreateConnectorRequest(name="other", config={**OWNING, "topics": "b,d"})
    (warning,) = (await service.stub.CreateConnector(request)).warnings
    assert (warning.key, warning.value) == ("owned", "file:///out.csv")
    assert f"the connector 'c' (uid {uid}, deleted at " in warning.reason
    assert (
        "wrote to the same target up to b/broker/0 [5]: this one begins anew and writes its records there again" in warning.reason
    )
    assert f"create this one with --adopt-uid {uid}" in warning.fix
    assert "To begin anew: move away what was written, or name another target." in warning.fix


@pytest.mark.parametrize("changed", [{"owned": "/other.csv"}, {"topics": "d"}])
async def test_a_sink_of_another_name_is_told_nothing_where_target_or_topics_are_others(
    service: Any, changed: dict[str, str]
) -> None:
    await was_there(service, OWNING, {"b/broker/0": "[5]"})
    assert await validated(service, {**OWNING, **changed}, "other") == []


async def test_a_sink_that_writes_there_already_is_told_of_no_one_before(service: Any) -> None:
    await was_there(service, OWNING, {"b/broker/0": "[5]"})
    await service.create("other", OWNING)
    update = pb.UpdateConnectorRequest(name="other", config={**OWNING, "note": "more"})
    assert not (await service.stub.UpdateConnector(update)).warnings


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


READING = {**GOOD, "reads": "/data/in.txt"}


async def test_a_deleted_one_of_another_name_that_read_the_same_into_the_same_topic_is_told_with_all_ways_out(service: Any) -> None:
    uid = await was_there(service, READING)
    request = pb.CreateConnectorRequest(name="other", config={**READING, "path": "written otherwise"})
    (warning,) = (await service.stub.CreateConnector(request)).warnings
    assert (warning.key, warning.value) == ("reads", "/data/in.txt")
    assert f"the connector 'c' (uid {uid}, deleted at " in warning.reason
    assert "read the same into the topic a,b up to file 1 [70]: this one begins anew and sends its records again" in warning.reason
    ways = warning.fix.split(" (")
    assert f"create this one with --adopt-uid {uid}" in warning.fix
    assert f"`rocketconnect connector create c --adopt-uid {uid}`" in warning.fix
    assert any("move /data/in.txt away first" in way for way in ways)
    assert "name another topic" in warning.fix
    assert warning.fix.endswith("To have each record there twice, leave it so.")


async def test_the_one_of_the_same_name_is_told_before_one_that_was_deleted_later(service: Any) -> None:
    uid = await was_there(service, READING)
    other = await service.create("other", {**READING, "shared": "yes"})
    service.positions.of[other.uid] = {"file 1": "[90]"}
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="other"))
    (warning,) = await validated(service, READING)
    assert uid in warning.reason


@pytest.mark.parametrize("changed", [{"reads": "/data/other.txt"}, {"topics": "d"}, {"shared": "yes"}])
async def test_one_of_another_name_is_not_told_where_something_else_is_read_or_it_is_wanted(
    service: Any, changed: dict[str, str]
) -> None:
    await was_there(service, READING)
    assert await validated(service, {**READING, **changed}, "other") == []


async def test_one_whose_files_are_not_there_any_more_is_not_told(service: Any) -> None:
    await was_there(service, READING)
    service.executor.gone = {"file 1"}
    assert await validated(service, READING, "other") == []
    assert await validated(service, READING) == []


async def test_an_update_to_what_a_deleted_one_read_is_told_and_the_next_one_is_not(service: Any) -> None:
    await was_there(service, READING)
    await service.create("other", {**READING, "reads": "/data/other.txt"})
    update = pb.UpdateConnectorRequest(name="other", config=READING)
    (warning,) = (await service.stub.UpdateConnector(update)).warnings
    assert "the connector 'c'" in warning.reason
    update = pb.UpdateConnectorRequest(name="other", config={**READING, "note": "more"})
    assert not (await service.stub.UpdateConnector(update)).warnings
