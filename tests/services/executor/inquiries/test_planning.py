"""What a plan sees of the positions that are stored."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from rocketconnect.position.v1 import position_service_pb2 as wire
from rocketconnect.record.v1 import record_pb2

from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Plan, Source
from services.executor.contract.answers import Planned
from services.executor.contract.assignment import Assigned, Key, PlanResult
from services.executor.contract.questions import GivenPosition, PlanConnector
from services.executor.host.jobs import plugins as jobs
from services.executor.inquiries.planner import HostPlanner
from services.executor.inquiries.stored_positions import StoredPositions

PLUGINS = Path(__file__).parents[1] / "runtime" / "plugins"
STORED = {"feed": GivenPosition([7], '{"cursor":"x"}')}


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(PLUGINS))
    loader.catalogue.cache_clear()
    yield
    loader.catalogue.cache_clear()


@pytest.mark.parametrize(("positions", "known"), [({}, ""), (STORED, "feed"), ({"feed": GivenPosition([])}, "")])
def test_a_source_plans_with_what_is_stored(plugins: None, positions: dict[str, GivenPosition], known: str) -> None:
    answer = jobs.plan({"connector.class": "feed", "url": "http://127.0.0.1:1/", "topic": "t"}, positions)
    assert answer == Planned([{"known": known, "tasks": "1"}], None)


def test_the_source_of_a_direct_connector_plans_with_its_own_map(plugins: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    source = type(loader.find("feed"))

    def plan(source: Source, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        seen.append(positions)
        return Plan([{}])

    monkeypatch.setattr(source, "plan", plan)
    config = {
        "connector.class": "direct",
        "source.connector.class": "feed",
        "source.url": "http://127.0.0.1:1/",
        "sink.connector.class": "table",
        "sink.file": "/nowhere",
    }
    assert isinstance(jobs.plan(config, {"feed": GivenPosition([7], '{"until":3,"resume":{"cursor":"x"}}')}), Planned)
    assert seen == [{"feed": Position((7,), {"cursor": "x"})}]


class Stub:
    """A position service with positions on two pages, or without an answer."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away
        self.asked: list[wire.ListPositionsRequest] = []

    async def ListPositions(self, request: wire.ListPositionsRequest, timeout: float) -> wire.ListPositionsResponse:  # noqa: ASYNC109
        assert timeout > 0
        self.asked.append(request)
        if self.away:
            raise grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "is away")
        if not request.page_token:
            first = [record_pb2.Position(partition="feed", offset="[7]", resume='{"cursor":"x"}')]
            return wire.ListPositionsResponse(positions=first, next_page_token="2")
        return wire.ListPositionsResponse(positions=[record_pb2.Position(partition="~task/0", offset="[]")])


class Fresh:
    """A fresh process that plans one task."""

    def __init__(self) -> None:
        self.asked: list[PlanConnector] = []

    async def ask(self, question: PlanConnector, seconds: float, name: str) -> Planned:
        self.asked.append(question)
        return Planned([{}], None)


def assigned(kind: str) -> Assigned:
    return Assigned(Key("uid", -1), "c", 1, 1, 1, kind, {"a": "b"})


async def planned(kind: str, stub: Any) -> tuple[Any, list[PlanConnector]]:
    fresh: Any = Fresh()
    return await HostPlanner(fresh, 5.0, StoredPositions(stub)).plan(assigned(kind)), fresh.asked


@pytest.mark.parametrize("kind", ["SOURCE", "DIRECT"])
async def test_a_plugin_that_reads_is_asked_with_all_that_is_stored_but_the_rows_of_the_runtime(kind: str) -> None:
    end, asked = await planned(kind, Stub())
    assert end.plan == PlanResult(({},), None)
    assert asked == [PlanConnector({"a": "b"}, STORED)]


async def test_a_sink_is_planned_without_positions() -> None:
    stub = Stub(away=True)
    _, asked = await planned("SINK", stub)
    assert (asked, stub.asked) == ([PlanConnector({"a": "b"}, {})], [])


async def test_while_the_position_service_is_away_there_is_no_plan_and_it_is_tried_again() -> None:
    end, asked = await planned("SOURCE", Stub(away=True))
    assert (end.failed, end.permanent, end.away, asked) == (True, False, True, [])
    assert "the position service does not tell where the connector is" in end.error
