"""What sources keep beside their offsets: stored, shown, moved by hand, exported, imported, in snapshots, restored."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit import errors
from services.config.domain import WantedState
from services.position import wire
from services.position.directory import Entry
from services.position.domain import Change, Moved, Position
from services.position.others import Resolved
from tests.services.position.test_service import Config, PaperOthers, config, fence, others, positions_of, refused, start

__all__ = ["config", "others", "start"]

MAP = '{"cursor":"secret"}'


async def standing(stub: Any, config: Config, *, revision: int = 1) -> str:
    """A stopped connector that stands at [9] of p, with a map; its uid."""
    uid = config.create("c").uid
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence(uid), revision=revision, keep_resume=True))
    await committed(stub, uid, "[9]", MAP)
    config.want("c", WantedState.STOPPED)
    return uid


async def committed(stub: Any, uid: str, offset: str, resume: str, *, generation: int = 1) -> None:
    request = pb.CommitPositionsRequest(fence=fence(uid, generation=generation, epoch=generation))
    request.updates.add().position.CopyFrom(record_pb2.Position(partition="p", offset=offset, resume=resume))
    await stub.CommitPositions(request)


def alter(offset: str, resume: str = "", *, dry_run: bool = False) -> pb.AlterPositionsRequest:
    positions = [record_pb2.Position(partition="p", offset=offset, resume=resume)]
    return pb.AlterPositionsRequest(connector="c", positions=positions, dry_run=dry_run)


async def test_a_position_is_listed_with_its_map_by_name_and_by_uid(start: Callable[[str], Any], config: Config) -> None:
    stub = await start(config.address)
    uid = await standing(stub, config)
    assert await positions_of(stub) == {"p": ("[9]", 0, MAP)}
    answer = await stub.ListPositions(pb.ListPositionsRequest(connector_uid=uid))
    assert [(each.partition, each.resume) for each in answer.positions] == [("p", MAP)]


async def test_by_uid_positions_are_listed_without_the_config_service(start: Callable[[str], Any]) -> None:
    stub = await start("")
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence("u")))
    await committed(stub, "u", "[1]", MAP)
    assert [each.offset for each in (await stub.ListPositions(pb.ListPositionsRequest(connector_uid="u"))).positions] == ["[1]"]


async def test_who_moves_a_position_gives_its_map_or_is_told_that_the_offset_is_alone(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    stub = await start(config.address)
    await standing(stub, config)
    for dry_run in (True, False):
        alone = await stub.AlterPositions(alter("[4]", dry_run=dry_run))
        assert list(alone.offset_alone) == ["p"]
        assert others.asked[-1 if dry_run else -2][2] == {"p": ("[4]", "")}
    assert await positions_of(stub) == {"p": ("[4]", 1, "")}
    given = await stub.AlterPositions(alter("[5]", MAP))
    assert list(given.offset_alone) == []
    assert await positions_of(stub) == {"p": ("[5]", 2, MAP)}
    others.resolved = Resolved({"p": ("[3]", '{"a":1}')}, (), ())
    await stub.AlterPositions(pb.AlterPositionsRequest(connector="c", to=record_pb2.EDGE_EARLIEST))
    assert await positions_of(stub) == {"p": ("[3]", 3, '{"a":1}')}
    assert "secret" not in str(others.told) + str(others.recorded)


@pytest.mark.parametrize("resume", ["[1]", "null", '{"secret": NaN}', "secret", '"secret"', "1"])
async def test_what_is_no_json_object_is_refused_and_not_shown(
    start: Callable[[str], Any], config: Config, others: PaperOthers, resume: str
) -> None:
    stub = await start(config.address)
    uid = await standing(stub, config)
    imported = pb.ImportPositionsRequest(connector="c", connector_uid=uid, positions=alter("[4]", resume).positions)
    for call in (stub.AlterPositions(alter("[4]", resume)), stub.ImportPositions(imported)):
        error = await refused(call)
        assert isinstance(error, errors.InvalidArgument)
        assert "positions[0].resume" in error.message
        assert "is not a JSON object" in error.message
        assert "secret" not in error.message
    assert (await positions_of(stub), others.asked) == ({"p": ("[9]", 0, MAP)}, [])


async def test_what_was_exported_is_imported_with_its_map(start: Callable[[str], Any], config: Config) -> None:
    stub = await start(config.address)
    uid = await standing(stub, config)
    exported = (await stub.ListPositions(pb.ListPositionsRequest(connector="c"))).positions
    await stub.AlterPositions(alter("[1]", '{"other":1}'))
    request = pb.ImportPositionsRequest(connector="c", connector_uid=uid, positions=exported)
    assert list((await stub.ImportPositions(request)).offset_alone) == []
    assert (await positions_of(stub))["p"][::2] == ("[9]", MAP)
    request.positions[0].resume = ""
    request.dry_run = True
    assert list((await stub.ImportPositions(request)).offset_alone) == ["p"]


@pytest.mark.parametrize("kept", [True, False])
async def test_restoring_the_end_of_a_revision_puts_the_map_back_that_was_kept(
    start: Callable[[str], Any], config: Config, kept: bool
) -> None:
    stub = await start(config.address)
    uid = await standing(stub, config)
    second = fence(uid, generation=2, epoch=2)
    await stub.OpenTask(pb.OpenTaskRequest(fence=second, revision=2, keep_resume=kept))
    await committed(stub, uid, "[20]", '{"cursor":"later"}', generation=2)
    answer = await stub.RestorePositions(pb.RestorePositionsRequest(connector="c", revision=1))
    assert list(answer.offset_alone) == ([] if kept else ["p"])
    assert await positions_of(stub) == {"p": ("[9]", 1, MAP if kept else "")}


def test_the_offset_of_a_sink_is_never_alone_and_that_of_a_direct_connector_where_its_source_had_a_map() -> None:
    had = {"until": json.dumps({"until": 5}), "both": json.dumps({"until": 5, "resume": {"cursor": 1}}), "new": ""}
    moved = Moved((), tuple(Change(name, "[1]", "[2]", text, "") for name, text in had.items()), 0)
    gone = Moved((), (Change("both", "[1]", None, had["both"], ""),), 0)
    told = {kind: wire.offset_alone(Entry("u", True, {}, kind), moved) for kind in ("SINK", "DIRECT", "SOURCE")}
    assert told == {"SINK": [], "DIRECT": ["both"], "SOURCE": ["until", "both"]}
    assert wire.offset_alone(Entry("u", True, {}, "SOURCE"), gone) == []


def test_no_map_is_in_what_a_log_shows() -> None:
    assert "secret" not in repr([Position("p", "[1]", 0, MAP, 0), Change("p", "[1]", "[2]", MAP, MAP)])
