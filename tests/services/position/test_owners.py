"""Workers that show who they are: none opens, takes over or commits the task of another one."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1 import position_service_pb2_grpc as rpc

from rocketconnect_kit.access.gate import Gate
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import Tokens, line
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.serving.server import CallLimits, make_server
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings
from services.position.directory import Directory
from services.position.domain import Holder
from services.position.others import GrpcOthers
from services.position.service import PositionService
from services.position.store import PositionStore
from tests.services.position.test_service import PaperOthers, fence, moves, others, refused

__all__ = ["others"]
CALLERS = {"one": Role.WORKER, "two": Role.WORKER, "many-*": Role.WORKER, "services": Role.SERVICE}


class Guarded:
    """A position service that asks who calls, as each of its callers sees it."""

    def __init__(self, stubs: dict[str, Any]) -> None:
        self._stubs = stubs

    async def open(self, who: str, *, as_worker: str | None = None, task: int = 0, generation: int = 1, epoch: int = 1) -> str:
        """With which reason it is refused; "": it is not."""
        request = pb.OpenTaskRequest(fence=fence("u", task, generation, epoch), worker_id=who if as_worker is None else as_worker)
        return await self._reason(self._stubs[who].OpenTask(request))

    async def commit(self, who: str, *, as_worker: str | None = None, epoch: int = 1) -> str:
        request = moves("u", epoch=epoch, p="[1]")
        request.worker_id = who if as_worker is None else as_worker
        return await self._reason(self._stubs[who].CommitPositions(request))

    async def fenced(self, who: str, epoch: int = 1) -> int:
        """Of how many of one task it is told that they are fenced when it confirms it."""
        request = pb.ConfirmEpochsRequest(fences=[fence("u", epoch=epoch)], lease=Duration(seconds=5), worker_id=who)
        return len((await self._stubs[who].ConfirmEpochs(request)).fenced)

    @staticmethod
    async def _reason(call: Any) -> str:
        try:
            with remote_errors():
                await call
        except ServiceError as error:
            return error.reason
        return ""


@pytest.fixture
async def guarded(store: PositionStore, others: PaperOthers, tmp_path: Path) -> AsyncIterator[Guarded]:
    callers = tmp_path / "callers"
    callers.write_text("".join(line(name, role, f"token-of-{name}") for name, role in CALLERS.items()))
    limits = CallLimits(30)
    server = make_server(limits, gates=[Gate(Tokens([callers]))])
    rpc.add_PositionServiceServicer_to_server(PositionService(store, Directory(), lambda: False, others), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with AsyncExitStack() as stack:
        stubs = {}
        for number, name in enumerate(CALLERS):
            token = tmp_path / f"token{number}"
            token.write_text(f"token-of-{name}")
            opened = await stack.enter_async_context(channel(f"127.0.0.1:{port}", ServiceSettings(token_file=token)))
            stubs[name] = rpc.PositionServiceStub(opened)
        yield Guarded(stubs)
        limits.end_streams()
        await server.stop(1)


async def test_a_task_is_opened_by_the_worker_alone_that_holds_it(guarded: Guarded, others: PaperOthers) -> None:
    others.holders["u", 0] = Holder("one", 1, 1)
    assert await guarded.open("two") == "NOT_ASSIGNED"
    assert await guarded.open("two", epoch=9) == "NOT_ASSIGNED"
    assert await guarded.open("two", task=1) == "NOT_ASSIGNED", "nobody holds it"
    assert await guarded.open("two", as_worker="one") == "NOT_ALLOWED"
    assert await guarded.open("two", as_worker="") == "NOT_ALLOWED"
    for generation, epoch in ((1 << 60, 1), (1, 1 << 60)):
        assert await guarded.open("one", generation=generation, epoch=epoch) == "NOT_ASSIGNED", "it would end the task for good"
    assert await guarded.open("one") == ""
    assert await guarded.commit("one") == ""


async def test_what_a_worker_has_opened_no_other_one_commits_or_confirms(guarded: Guarded, others: PaperOthers) -> None:
    others.holders["u", 0] = Holder("one", 1, 1)
    assert await guarded.open("one") == ""
    assert await guarded.commit("two") == "NOT_OWNER"
    assert await guarded.commit("two", as_worker="one") == "NOT_ALLOWED"
    assert await guarded.fenced("two") == 1
    assert await guarded.fenced("one") == 0
    assert await guarded.commit("one") == ""


async def test_a_task_that_moves_is_the_next_workers(guarded: Guarded, others: PaperOthers) -> None:
    others.holders["u", 0] = Holder("one", 1, 1)
    assert await guarded.open("one") == ""
    others.holders["u", 0] = Holder("two", 1, 2)
    assert await guarded.open("one") == "NOT_ASSIGNED"
    assert await guarded.open("two", epoch=2) == ""
    assert await guarded.commit("two", epoch=2) == ""
    assert await guarded.commit("one") == "FENCED"


async def test_workers_that_share_a_token_are_told_apart_by_what_they_say(guarded: Guarded, others: PaperOthers) -> None:
    others.holders["u", 0] = Holder("many-1", 1, 1)
    assert await guarded.open("many-*", as_worker="many-2") == "NOT_ASSIGNED"
    assert await guarded.open("many-*", as_worker="many-1") == ""
    assert await guarded.commit("many-*", as_worker="many-2") == "NOT_OWNER"
    assert await guarded.open("many-*", as_worker="one") == "NOT_ALLOWED"


async def test_tasks_start_again_while_the_cluster_service_is_away_and_stay_their_workers(
    guarded: Guarded, others: PaperOthers, caplog: pytest.LogCaptureFixture
) -> None:
    others.silent = True
    with caplog.at_level(logging.WARNING):
        assert await guarded.open("one") == ""
    assert "nobody can say whether it is this worker's" in caplog.text
    assert await guarded.open("one") == ""
    assert await guarded.open("two") == "NOT_OWNER"
    assert await guarded.commit("two") == "NOT_OWNER"


async def test_services_may_speak_for_every_worker(guarded: Guarded, others: PaperOthers) -> None:
    assert await guarded.open("services", as_worker="") == ""
    assert await guarded.commit("services", as_worker="") == ""
    assert others.asked == []


async def test_without_the_address_of_the_cluster_service_nobody_can_say_who_holds_a_task() -> None:
    real = GrpcOthers(ServiceSettings())
    try:
        assert (await refused(real.holder("u", 0))).reason == "POSITIONS_NOT_CHECKED"
    finally:
        await real.close()
