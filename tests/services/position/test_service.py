"""The service over gRPC, beside a real config service that it follows."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from rocketconnect.config.v1.config_service_pb2_grpc import add_ConfigServiceServicer_to_server
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor_pb2
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1 import position_service_pb2_grpc as rpc
from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit import errors
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings, StoreSettings
from rocketconnect_kit.store import database
from rocketconnect_kit.testing import server_for_test
from services.config.domain import Connector, ConnectorType, Draft, WantedState
from services.config.feed import ChangeFeed
from services.config.predecessors.warning import GrpcPositions, Predecessors
from services.config.replays.others import GrpcOthers as Replays
from services.config.service import ConfigService
from services.config.store import ConfigStore
from services.config.validation.executors import GrpcExecutors
from services.position.directory import Directory
from services.position.domain import Change, Holder
from services.position.others import GrpcOthers, Resolved, not_checked
from services.position.server import following
from services.position.service import PositionService, _short
from services.position.store import PositionStore


class Config:
    """A real config service whose connectors the test makes at the store."""

    def __init__(self, store: ConfigStore, feed: ChangeFeed) -> None:
        self.store = store
        self.feed = feed
        self.stack = AsyncExitStack()
        self.address = ""

    async def start(self, port: int = 0) -> None:
        settings = ServiceSettings()
        executors = GrpcExecutors(settings)
        predecessors = Predecessors(self.store, GrpcPositions(settings), executors)
        service = ConfigService(self.store, executors, self.feed, predecessors, Replays(settings))
        self.address = await self.stack.enter_async_context(
            server_for_test(lambda server: add_ConfigServiceServicer_to_server(service, server), port=port)
        )

    async def stop(self) -> None:
        await self.stack.aclose()

    def create(self, name: str, **more: str) -> Connector:
        draft = Draft(name, {"connector.class": "x", **more}, WantedState.RUNNING, "", "")
        made = self.store.create(draft, ConnectorType.SOURCE)
        self.feed.notify()
        return made

    def want(self, name: str, wanted: WantedState) -> None:
        self.store.want(name, wanted)
        self.feed.notify()

    def delete(self, name: str) -> None:
        self.store.delete(name, "")
        self.feed.notify()


@pytest.fixture
async def config(tmp_path: Path) -> AsyncIterator[Config]:
    engine = database.engine(f"sqlite:///{tmp_path}/config.db")
    database.migrate(engine, "config")
    made = Config(ConfigStore(engine, lambda: 1), ChangeFeed(None))
    await made.start()
    yield made
    await made.stop()
    engine.dispose()


@dataclass
class PaperOthers:
    """What the other services would say; what they were asked and told."""

    running: list[str] = field(default_factory=list)
    wrong: list[errors.FieldProblem] = field(default_factory=list)
    silent: bool = False
    resolved: Resolved = field(default_factory=lambda: Resolved({}, (), ()))
    asked: list[Any] = field(default_factory=list)
    told: list[tuple[str, list[str]]] = field(default_factory=list)
    recorded: list[tuple[str, str]] = field(default_factory=list)
    holders: dict[tuple[str, int], Holder] = field(default_factory=dict)

    async def holder(self, uid: str, task: int) -> Holder:
        self._answer("holder")
        return self.holders.get((uid, task), Holder())

    async def owners(self, uid: str) -> Sequence[str]:
        self._answer("owners")
        return [] if not self.running else [self.running.pop(0)]

    async def check(
        self, name: str, config: Mapping[str, str], positions: Mapping[str, tuple[str, str]]
    ) -> Sequence[errors.FieldProblem]:
        self._answer((name, dict(config), dict(positions)))
        return self.wrong

    async def resolve(self, request: executor_pb2.ResolvePositionsRequest) -> Resolved:
        self._answer(request)
        return self.resolved

    async def tell(self, uid: str, author: str, why: str, lines: Sequence[str]) -> None:
        self.told.append((uid, list(lines)))
        self.recorded.append((author, why))

    def _answer(self, asked: object) -> None:
        self.asked.append(asked)
        if self.silent:
            raise not_checked("anything", "everybody is silent")


@pytest.fixture
def others() -> PaperOthers:
    return PaperOthers()


@pytest.fixture
async def start(store: PositionStore, others: PaperOthers) -> AsyncIterator[Callable[[str], Any]]:
    async with AsyncExitStack() as stack:

        async def one(config_address: str) -> Any:
            directory = Directory()
            settings = StoreSettings(config_address=config_address)
            connected = await stack.enter_async_context(following(directory, settings))
            service = PositionService(store, directory, connected, others)
            address = await stack.enter_async_context(
                server_for_test(lambda server: rpc.add_PositionServiceServicer_to_server(service, server))
            )
            opened = await stack.enter_async_context(channel(address, ServiceSettings()))
            async with asyncio.timeout(10):
                while config_address and not connected():
                    await asyncio.sleep(0.01)
            return rpc.PositionServiceStub(opened)

        yield one


def fence(uid: str, task: int = 0, generation: int = 1, epoch: int = 1) -> pb.TaskFence:
    return pb.TaskFence(connector_uid=uid, task=task, generation=generation, epoch=epoch)


def moves(uid: str, *, epoch: int = 1, clean: bool = False, **offsets: str) -> pb.CommitPositionsRequest:
    request = pb.CommitPositionsRequest(fence=fence(uid, epoch=epoch), clean=clean)
    for partition, offset in offsets.items():
        request.updates.add().position.CopyFrom(record_pb2.Position(partition=partition, offset=offset))
    return request


def alter(connector: str, **offsets: str) -> pb.AlterPositionsRequest:
    positions = [record_pb2.Position(partition=partition, offset=offset) for partition, offset in offsets.items()]
    return pb.AlterPositionsRequest(connector=connector, positions=positions)


async def refused(call: Any) -> errors.ServiceError:
    with pytest.raises(errors.ServiceError) as caught, remote_errors():
        await call
    return caught.value


async def test_open_commit_and_list(start: Callable[[str], Any], config: Config) -> None:
    made = config.create("c")
    stub = await start(config.address)
    answer = await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid)))
    assert (answer.clean, list(answer.positions), answer.incarnation, answer.wait.ToTimedelta().total_seconds()) == (True, [], 0, 0)
    await stub.CommitPositions(moves(made.uid, p="[1, 2]", q="[3]"))
    first = await stub.ListPositions(pb.ListPositionsRequest(connector="c", page_size=1))
    assert [(each.partition, each.offset) for each in first.positions] == [("p", "[1,2]")]
    assert first.positions[0].update_time.ToMicroseconds() > 0
    second = await stub.ListPositions(pb.ListPositionsRequest(connector="c", page_token=first.next_page_token))
    assert [each.partition for each in second.positions] == ["q"]


async def test_a_fenced_commit_is_told_with_its_reason(start: Callable[[str], Any]) -> None:
    stub = await start("")
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence("u", epoch=2)))
    error = await refused(stub.CommitPositions(moves("u", epoch=1, p="[1]")))
    assert (type(error), error.reason) == (errors.FailedPrecondition, "FENCED")
    assert error.metadata["opened_generation"] == "1"
    assert "stop the task" in error.message


async def test_tasks_are_confirmed_but_those_that_somebody_else_has_opened(start: Callable[[str], Any]) -> None:
    stub = await start("")
    for one in (fence("a"), fence("b"), fence("b", epoch=2)):
        await stub.OpenTask(pb.OpenTaskRequest(fence=one))
    request = pb.ConfirmEpochsRequest(fences=[fence("a"), fence("b"), fence("c")], lease=Duration(seconds=5))
    assert list((await stub.ConfirmEpochs(request)).fenced) == [fence("b")]
    wait = (await stub.OpenTask(pb.OpenTaskRequest(fence=fence("a", epoch=3)))).wait
    assert 4 < wait.ToTimedelta().total_seconds() <= 5


async def test_a_confirmation_of_nonsense_is_refused_with_all_that_is_wrong(start: Callable[[str], Any]) -> None:
    stub = await start("")
    request = pb.ConfirmEpochsRequest(fences=[fence("a"), fence("a", epoch=2), fence("!")], lease=Duration(seconds=601))
    wrong = await refused(stub.ConfirmEpochs(request))
    assert isinstance(wrong, errors.InvalidArgument)
    assert {problem.field for problem in wrong.problems} == {"fences", "lease", "fence.connector_uid"}


async def test_what_is_wrong_is_told_all_at_once(start: Callable[[str], Any]) -> None:
    stub = await start("")
    error = await refused(stub.CommitPositions(moves("a/b", p="one", q="[]x")))
    assert isinstance(error, errors.InvalidArgument)
    assert [problem.field for problem in error.problems] == [
        "fence.connector_uid",
        "updates[0].position.offset",
        "updates[1].position.offset",
    ]
    error = await refused(stub.OpenTask(pb.OpenTaskRequest(fence=fence("", task=-1))))
    assert isinstance(error, errors.InvalidArgument)
    assert len(error.problems) == 2


async def test_positions_are_altered_and_reset_only_while_the_connector_is_stopped(
    start: Callable[[str], Any], config: Config
) -> None:
    made = config.create("c")
    stub = await start(config.address)
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid)))
    await stub.CommitPositions(moves(made.uid, p="[9]"))
    for call in (stub.AlterPositions(alter("c", p="[1]")), stub.ResetPositions(pb.ResetPositionsRequest(connector="c"))):
        error = await refused(call)
        assert (type(error), error.reason) == (errors.FailedPrecondition, "NOT_STOPPED")
    config.want("c", WantedState.STOPPED)
    answer = await stub.AlterPositions(alter("c", p="[1]", q="[2]"))
    assert [(each.partition, each.offset, each.incarnation) for each in answer.positions] == [("p", "[1]", 1), ("q", "[2]", 1)]
    assert (await refused(stub.CommitPositions(moves(made.uid, p="[10]")))).reason == "FENCED"
    assert (await stub.ResetPositions(pb.ResetPositionsRequest(connector="c"))).count == 2
    opened = await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid, epoch=2)))
    assert (list(opened.positions), opened.incarnation, opened.clean) == ([], 2, True)


async def test_altering_nothing_or_nonsense_is_refused(start: Callable[[str], Any], config: Config) -> None:
    stub = await start(config.address)
    for request in (alter("c"), alter("c", p="x")):
        assert isinstance(await refused(stub.AlterPositions(request)), errors.InvalidArgument)


async def test_unknown_names_are_not_found(start: Callable[[str], Any], config: Config) -> None:
    stub = await start(config.address)
    for call in (
        stub.ListPositions(pb.ListPositionsRequest(connector="nobody")),
        stub.ResetPositions(pb.ResetPositionsRequest(connector="nobody")),
    ):
        error = await refused(call)
        assert (type(error), error.reason) == (errors.NotFound, "CONNECTOR_NOT_FOUND")


async def test_a_name_that_was_made_again_has_no_positions_of_the_old_one(start: Callable[[str], Any], config: Config) -> None:
    old = config.create("c")
    stub = await start(config.address)
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence(old.uid)))
    await stub.CommitPositions(moves(old.uid, p="[9]"))
    assert len((await stub.ListPositions(pb.ListPositionsRequest(connector="c"))).positions) == 1
    config.delete("c")
    new = config.create("c", other="1")
    async with asyncio.timeout(5):
        while (await stub.ListPositions(pb.ListPositionsRequest(connector="c"))).positions:
            await asyncio.sleep(0.02)
    assert new.uid != old.uid


async def test_without_the_config_service_tasks_go_on_and_nothing_is_altered(start: Callable[[str], Any], config: Config) -> None:
    made = config.create("c")
    config.want("c", WantedState.STOPPED)
    stub = await start(config.address)
    await config.stop()
    async with asyncio.timeout(10):
        while (await refused(stub.ResetPositions(pb.ResetPositionsRequest(connector="c2")))).reason != "CONFIG_UNAVAILABLE":
            await asyncio.sleep(0.05)
    error = await refused(stub.AlterPositions(alter("c", p="[1]")))
    assert (type(error), error.reason) == (errors.Unavailable, "CONFIG_UNAVAILABLE")
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid)))
    await stub.CommitPositions(moves(made.uid, p="[9]"))
    listed = await stub.ListPositions(pb.ListPositionsRequest(connector="c"))
    assert [each.offset for each in listed.positions] == ["[9]"]
    await config.start(port=int(config.address.rpartition(":")[2]))
    async with asyncio.timeout(10):
        while True:
            try:
                await stub.AlterPositions(alter("c", p="[1]"))
                break
            except Exception:
                await asyncio.sleep(0.1)


async def test_without_an_address_of_the_config_service_it_says_which_setting_is_missing(start: Callable[[str], Any]) -> None:
    stub = await start("")
    error = await refused(stub.ListPositions(pb.ListPositionsRequest(connector="c")))
    assert "--config-address" in error.message


async def stopped(stub: Any, config: Config, name: str = "c", **offsets: Any) -> Connector:
    """A connector that is wanted STOPPED and has these positions."""
    made = config.create(name)
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid)))
    await stub.CommitPositions(moves(made.uid, **offsets))
    config.want(name, WantedState.STOPPED)
    return made


async def positions_of(stub: Any, name: str = "c") -> dict[str, tuple[str, int, str]]:
    answer = await stub.ListPositions(pb.ListPositionsRequest(connector=name))
    return {each.partition: (each.offset, each.incarnation, each.resume) for each in answer.positions}


def changed(answer: Any) -> list[tuple[str, str, str]]:
    return [(each.partition, each.from_offset, each.to_offset) for each in answer.changes]


async def test_what_is_wrong_with_positions_is_told_at_once_and_nothing_is_changed(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    stub = await start(config.address)
    await stopped(stub, config, p="[9]")
    others.wrong = [errors.FieldProblem("p", "[99]", "is beyond the end", "less"), errors.FieldProblem("q", "", "is not there", "")]
    before = await positions_of(stub)
    error = await refused(stub.AlterPositions(alter("c", p="[99]", q="[1]")))
    assert isinstance(error, errors.InvalidArgument)
    assert [(problem.field, problem.reason) for problem in error.problems] == [("p", "is beyond the end"), ("q", "is not there")]
    assert others.asked == [("c", {"connector.class": "x"}, {"p": ("[99]", ""), "q": ("[1]", "")})]
    assert (await positions_of(stub), others.told) == (before, [])


async def test_positions_that_nobody_can_check_are_moved_only_when_that_is_asked_for(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    stub = await start(config.address)
    await stopped(stub, config, p="[9]")
    others.silent = True
    request = alter("c", p="[1]")
    for call in (stub.AlterPositions(request), stub.ResetPositions(pb.ResetPositionsRequest(connector="c"))):
        error = await refused(call)
        assert (type(error), error.reason) == (errors.Unavailable, "POSITIONS_NOT_CHECKED")
        assert "everybody is silent" in error.message
    request.unchecked = True
    assert changed(await stub.AlterPositions(request)) == [("p", "[9]", "[1]")]


async def test_nothing_is_moved_while_a_task_is_still_ending(
    start: Callable[[str], Any], config: Config, others: PaperOthers, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = await start(config.address)
    await stopped(stub, config, p="[9]")
    others.running = ["task 0 on worker-1"] * 3
    assert changed(await stub.AlterPositions(alter("c", p="[1]"))) == [("p", "[9]", "[1]")]
    assert others.running == []
    monkeypatch.setattr("services.position.service.ENDING_SECONDS", 0.2)
    others.running = ["task 0 on worker-1"] * 1000
    error = await refused(stub.AlterPositions(alter("c", p="[2]")))
    assert (type(error), error.reason) == (errors.FailedPrecondition, "NOT_STOPPED")
    assert "task 0 on worker-1" in error.message
    assert (await positions_of(stub))["p"][0] == "[1]"


async def test_a_dry_run_says_what_would_change_and_changes_nothing_also_while_it_runs(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    made = config.create("c")
    stub = await start(config.address)
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid)))
    await stub.CommitPositions(moves(made.uid, p="[9]"))
    request = alter("c", p="[1]", q="[2]")
    request.dry_run = True
    assert changed(await stub.AlterPositions(request)) == [("p", "[9]", "[1]"), ("q", "", "[2]")]
    assert changed(await stub.ResetPositions(pb.ResetPositionsRequest(connector="c", dry_run=True))) == [("p", "[9]", "")]
    imported = pb.ImportPositionsRequest(connector="c", connector_uid=made.uid, dry_run=True)
    assert changed(await stub.ImportPositions(imported)) == [("p", "[9]", "")]
    assert await positions_of(stub) == {"p": ("[9]", 0, "")}
    await stub.CommitPositions(moves(made.uid, p="[10]"))
    assert others.told == []


async def test_a_place_is_resolved_by_who_knows_and_stored(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    stub = await start(config.address)
    await stopped(stub, config, p="[9]", **{"~task/0": "[]"})
    left = connector_pb2.Problem(key="gone", reason="is not there")
    others.resolved = Resolved({"p": ("[3]", ""), "q": ("[0]", "")}, (), [left])
    request = pb.AlterPositionsRequest(connector="c", partitions=["p"], author="me")
    request.to_time.FromSeconds(1000)
    answer = await stub.AlterPositions(request)
    assert (changed(answer), list(answer.left_out)) == ([("p", "[9]", "[3]"), ("q", "", "[0]")], [left])
    question = others.asked[0]
    assert (question.time.seconds, list(question.partitions), list(question.known)) == (1000, ["p"], ["p"])
    others.resolved = Resolved({}, [errors.FieldProblem("p", "", "has no times", "give offsets")], ())
    error = await refused(stub.AlterPositions(request))
    assert isinstance(error, errors.InvalidArgument)
    assert "has no times" in error.message


async def test_who_moved_what_is_in_the_log_of_the_connector(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    stub = await start(config.address)
    made = await stopped(stub, config, p="[9]")
    request = alter("c", p="[1]")
    request.author = "root@host"
    await stub.AlterPositions(request)
    assert others.told == [(made.uid, ["positions moved by root@host: 1 of them", "position of p: [9] -> [1]"])]
    assert others.recorded == [("root@host", "moved: p [9] -> [1]")]


async def test_a_position_that_a_reset_of_its_group_moves_is_in_log_and_history_once(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    made = config.create("c")
    stub = await start(config.address)
    await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid)))
    await stub.CommitPositions(moves(made.uid, p="[9]", q="[7]"))
    request = moves(made.uid, p="[2]", q="[8]")
    request.updates[0].reset_group, request.updates[0].position.incarnation = "connect-c", 5
    for _ in range(2):
        # Its answer may be lost.
        await stub.CommitPositions(request)
    assert others.told == [
        (made.uid, ["positions moved by a reset of the group connect-c: 1 of them", "position of p: [9] -> [2]"])
    ]
    assert others.recorded == [("a reset of the group connect-c", "moved: p [9] -> [2]")]
    assert await positions_of(stub) == {"p": ("[2]", 5, ""), "q": ("[8]", 0, "")}


async def test_the_history_of_the_connector_keeps_who_moved_what(
    start: Callable[[str], Any], config: Config, others: PaperOthers
) -> None:
    stub = await start(config.address)
    made = await stopped(stub, config, p="[9]")
    before = config.store.get("c")
    real = GrpcOthers(StoreSettings(config_address=config.address))
    await real.tell(made.uid, "root@host", "moved: p [9] -> [1]", [])
    await real.tell("nobody", "root@host", "moved", [])
    await real.close()
    newest = config.store.history("c", None, 1)[0][1]
    assert (newest.action, newest.author, newest.reason) == ("MOVE_POSITIONS", "root@host", "moved: p [9] -> [1]")
    assert config.store.get("c") == before


def test_the_history_names_the_first_that_were_moved_in_one_line() -> None:
    changes = [Change(f"p\n{number}", None if number else "[9]", "[1]") for number in range(5)]
    moved = "p?0 [9] -> [1], p?1 none -> [1], p?2 none -> [1], and 2 more"
    assert _short("moved", changes) == f"moved: {moved}"
    assert _short("reset", []) == "reset: nothing"


@pytest.mark.parametrize(
    ("request_", "field_"),
    [
        (pb.AlterPositionsRequest(connector="c", positions=[record_pb2.Position(partition="~task/0", offset="[]")]), "partition"),
        (pb.AlterPositionsRequest(connector="c", to=record_pb2.EDGE_LATEST, partitions=["~task/0"]), "partition"),
        (pb.AlterPositionsRequest(connector="c", partitions=["p"]), "positions"),
        (
            pb.AlterPositionsRequest(
                connector="c", to=record_pb2.EDGE_LATEST, positions=[record_pb2.Position(partition="p", offset="[1]")]
            ),
            "to",
        ),
    ],
)
async def test_a_request_that_contradicts_itself_or_names_the_runtimes_rows_is_refused(
    start: Callable[[str], Any], config: Config, request_: pb.AlterPositionsRequest, field_: str
) -> None:
    stub = await start(config.address)
    await stopped(stub, config, p="[9]")
    error = await refused(stub.AlterPositions(request_))
    assert isinstance(error, errors.InvalidArgument)
    assert field_ in error.problems[0].field


async def test_what_was_exported_is_put_back_exactly_and_nothing_else_stays(start: Callable[[str], Any], config: Config) -> None:
    stub = await start(config.address)
    made = await stopped(stub, config, p="[9]", q="[5]", **{"~task/0": "[]"})
    exported = list((await stub.ListPositions(pb.ListPositionsRequest(connector="c"))).positions)
    exported[0].resume = '{"marks": {}}'
    await stub.AlterPositions(alter("c", p="[1]", r="[7]"))
    request = pb.ImportPositionsRequest(connector="c", connector_uid=made.uid, positions=exported)
    answer = await stub.ImportPositions(request)
    assert changed(answer) == [("p", "[1]", "[9]"), ("q", "[5]", "[5]"), ("r", "[7]", "")]
    after = await positions_of(stub)
    assert {name: (offset, resume) for name, (offset, _, resume) in after.items()} == {
        "p": ("[9]", '{"marks": {}}'),
        "q": ("[5]", ""),
        "~task/0": ("[]", ""),
    }
    # What the sink stored with its data under the incarnations before does not win over what is put back, r's among it.
    assert min(after["p"][1], after["q"][1]) > 1
    opened = await stub.OpenTask(pb.OpenTaskRequest(fence=fence(made.uid, epoch=2)))
    assert opened.incarnation > 1


async def test_positions_of_another_connector_or_with_a_broken_resume_are_not_put_back(
    start: Callable[[str], Any], config: Config
) -> None:
    stub = await start(config.address)
    made = await stopped(stub, config, p="[9]")
    good = record_pb2.Position(partition="p", offset="[1]")
    broken = record_pb2.Position(partition="p", offset="x", resume="[")
    for request, fields in (
        (pb.ImportPositionsRequest(connector="c", connector_uid="other", positions=[good]), ["connector_uid"]),
        (
            pb.ImportPositionsRequest(connector="c", connector_uid=made.uid, positions=[broken]),
            ["positions[0].offset", "positions[0].resume"],
        ),
    ):
        error = await refused(stub.ImportPositions(request))
        assert isinstance(error, errors.InvalidArgument)
        assert [problem.field for problem in error.problems] == fields
    assert await positions_of(stub) == {"p": ("[9]", 0, "")}
