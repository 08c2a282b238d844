"""The RPCs, over a real server, a real SQLite store and real time."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.cluster.v1 import cluster_service_pb2_grpc as rpc
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import Identity
from rocketconnect_kit.errors import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.store import database
from rocketconnect_kit.testing import serve_for_test
from services.cluster.coordinator import Coordinator
from services.cluster.decisions.checks import MAXIMUM_PLUGINS
from services.cluster.decisions.events import ConnectorsChanged
from services.cluster.decisions.leases import Timing
from services.cluster.model import PLAN, Connector, TargetState
from services.cluster.service import ClusterService
from services.cluster.state import Policy
from services.cluster.store import ClusterStore

TIMING = Timing(lease=60.0, heartbeat_interval=0.2, send_deadline=0.3)
"""Workers of tests beat only where that is the matter."""
LAPSING = pytest.mark.parametrize("client", [Timing(lease=1.0, heartbeat_interval=0.2, send_deadline=0.3)], indirect=True)
"""For tests of what is so when a lease has lapsed."""


class Client:
    """A stub whose errors come out as domain errors."""

    def __init__(self, stub: "rpc.ClusterServiceAsyncStub", coordinator: Coordinator) -> None:
        self.stub = stub
        self.coordinator = coordinator

    async def call(self, method: str, request: Any) -> Any:
        try:
            return await getattr(self.stub, method)(request, timeout=60)
        except grpc.RpcError as error:
            raise decode(error) from error

    async def register(self, worker: str, **more: Any) -> int:
        fields = {"address": "127.0.0.1:9", "plugins": ["file_source"], "labels": {"zone": "a"}, "process": "1"} | more
        answer = await self.call("RegisterWorker", pb.RegisterWorkerRequest(worker_id=worker, **fields))
        return int(answer.session)

    def watch(self, worker: str = "", session: int = 0) -> Any:
        return self.stub.WatchAssignments(pb.WatchAssignmentsRequest(worker_id=worker, session=session)).__aiter__()

    async def next_of(self, watch: Any) -> pb.WatchAssignmentsResponse:
        try:
            answer: pb.WatchAssignmentsResponse = await asyncio.wait_for(watch.__anext__(), 5)
        except grpc.RpcError as error:
            raise decode(error) from error
        return answer

    @asynccontextmanager
    async def beating(self, worker: str, session: int) -> AsyncIterator[None]:
        """The lease of the worker does not lapse."""

        async def beat() -> None:
            while True:
                await self.call("Heartbeat", pb.HeartbeatRequest(worker_id=worker, session=session))
                await asyncio.sleep(0.2)

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()

    async def plan(self, worker: str, session: int, assignment: pb.Assignment, tasks: int) -> int:
        request = pb.ReportPlanRequest(
            worker_id=worker,
            session=session,
            connector_uid=assignment.connector_uid,
            epoch=assignment.epoch,
            tasks=[pb.PlannedTask(config={"part": str(number)}) for number in range(tasks)],
        )
        return int((await self.call("ReportPlan", request)).generation)

    async def want(self, *connectors: Connector) -> None:
        await self.coordinator.submit(ConnectorsChanged(snapshot=False, connectors=connectors))


@pytest.fixture
async def client(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    timing = getattr(request, "param", TIMING)
    engine = database.engine(f"sqlite:///{tmp_path}/cluster.db")
    database.migrate(engine, "cluster")
    coordinator = Coordinator(ClusterStore(engine, 0), Policy(timing), time.monotonic, Random(0))
    service = ClusterService(coordinator, timing)
    async with coordinator.running(), serve_for_test(lambda s: rpc.add_ClusterServiceServicer_to_server(service, s)) as channel:
        yield Client(rpc.ClusterServiceStub(channel), coordinator)
    engine.dispose()


async def test_a_worker_gets_a_session_its_work_and_every_change_of_it(client: Client, connector: Callable[..., Connector]) -> None:
    answer = await client.call(
        "RegisterWorker", pb.RegisterWorkerRequest(worker_id="a", address="h:1", plugins=["file_source"], labels={"zone": "a"})
    )
    assert (answer.lease.ToNanoseconds(), answer.heartbeat_interval.ToNanoseconds()) == (60 * 10**9, 2 * 10**8)
    session = answer.session
    watch = client.watch("a", session)
    first = await client.next_of(watch)
    assert (first.snapshot, list(first.assignments)) == (True, [])
    await client.want(connector())
    planning = await client.next_of(watch)
    assert not planning.snapshot
    assert [(one.unit, one.task, one.connector, one.revision) for one in planning.assignments] == [
        (pb.UNIT_PLAN, PLAN, "name-u1", 1)
    ]
    assert await client.plan("a", session, planning.assignments[0], 2) >= planning.assignments[0].generation > 1
    tasks = await client.next_of(watch)
    assert [(one.unit, one.task, dict(one.task_config)) for one in tasks.assignments] == [
        (pb.UNIT_TASK, 0, {"part": "0"}),
        (pb.UNIT_TASK, 1, {"part": "1"}),
    ]
    assert [key.task for key in tasks.removed] == [PLAN]
    await client.want(connector(wanted=TargetState.STOPPED))
    revoked = await client.next_of(watch)
    assert [one.revoked for one in revoked.assignments] == [True, True]
    for one in revoked.assignments:
        key = pb.AssignmentKey(connector_uid="u1", task=one.task)
        request = pb.ReleaseAssignmentRequest(worker_id="a", session=session, key=key, epoch=one.epoch)
        await client.call("ReleaseAssignment", request)
    gone: list[int] = []
    while len(gone) < 2:
        gone += [key.task for key in (await client.next_of(watch)).removed]
    assert sorted(gone) == [0, 1]


async def test_the_stream_of_a_session_that_was_replaced_ends_and_tells_nothing_of_the_new_one(
    client: Client, connector: Callable[..., Connector]
) -> None:
    old = await client.register("a")
    watch = client.watch("a", old)
    await client.next_of(watch)
    await client.register("a")
    await client.want(connector())
    with pytest.raises(FailedPrecondition) as fenced:
        await client.next_of(watch)
    assert fenced.value.reason == "WORKER_FENCED"
    for method, request in (
        ("Heartbeat", pb.HeartbeatRequest(worker_id="a", session=old)),
        ("DeregisterWorker", pb.DeregisterWorkerRequest(worker_id="a", session=old)),
        ("ReportPlan", pb.ReportPlanRequest(worker_id="a", session=old, connector_uid="u1")),
        ("ReleaseAssignment", pb.ReleaseAssignmentRequest(worker_id="a", session=old)),
    ):
        with pytest.raises(FailedPrecondition, match="register again"):
            await client.call(method, request)


@LAPSING
async def test_the_stream_of_a_silent_worker_ends_when_it_is_judged(client: Client) -> None:
    session = await client.register("a")
    watch = client.watch("a", session)
    await client.next_of(watch)
    for _ in range(8):
        await asyncio.sleep(0.2)
        await client.call("Heartbeat", pb.HeartbeatRequest(worker_id="a", session=session))
    # While nobody at all is heard, nobody is judged.
    other = await client.register("b")
    async with client.beating("b", other):
        with pytest.raises(FailedPrecondition, match="has ended"):
            await client.next_of(watch)


async def test_what_is_not_held_is_fenced(client: Client, connector: Callable[..., Connector]) -> None:
    session = await client.register("a")
    await client.want(connector())
    key = pb.AssignmentKey(connector_uid="u1", task=PLAN)
    with pytest.raises(FailedPrecondition) as fenced:
        request = pb.ReleaseAssignmentRequest(worker_id="a", session=session, key=key, epoch=999)
        await client.call("ReleaseAssignment", request)
    assert fenced.value.reason == "FENCED"


async def test_who_watches_all_sees_what_nobody_holds_and_why(client: Client, connector: Callable[..., Connector]) -> None:
    await client.want(connector(config={"connector.class": "hudi_sink"}))
    answer = await client.next_of(client.watch())
    assert answer.snapshot
    [one] = answer.assignments
    assert (one.worker_id, one.unowned_state) == ("", connector_pb2.STATE_UNASSIGNED)
    assert one.reason == "no executor is registered: start one; `rocketconnect up` starts again by itself what has ended"


async def test_assignments_are_listed_by_connector_and_task_a_page_at_a_time(
    client: Client, connector: Callable[..., Connector]
) -> None:
    session = await client.register("a")
    await client.want(connector("u2"), connector("u1"))
    for one in (await client.next_of(client.watch("a", session))).assignments:
        await client.plan("a", session, one, 2)
    listed: list[tuple[str, int]] = []
    token = ""
    while True:
        page = await client.call("ListAssignments", pb.ListAssignmentsRequest(page_size=3, page_token=token))
        listed += [(one.connector, one.task) for one in page.assignments]
        token = page.next_page_token
        if not token:
            break
    assert listed == [("name-u1", 0), ("name-u1", 1), ("name-u2", 0), ("name-u2", 1)]
    assert page.assignment_changes == 6
    with pytest.raises(InvalidArgument, match="not a token"):
        await client.call("ListAssignments", pb.ListAssignmentsRequest(page_token="x"))


async def test_one_assignment_is_told_with_its_owner(client: Client, connector: Callable[..., Connector]) -> None:
    session = await client.register("a")
    await client.want(connector())
    [planning] = (await client.next_of(client.watch("a", session))).assignments
    generation = await client.plan("a", session, planning, 1)
    request = pb.GetAssignmentRequest(key=pb.AssignmentKey(connector_uid="u1", task=0))
    told = (await client.call("GetAssignment", request)).assignment
    assert (told.worker_id, told.generation, told.epoch > planning.epoch) == ("a", generation, True)
    request.key.task = 1
    with pytest.raises(NotFound, match="there is no task 1 of the connector with the uid 'u1'"):
        await client.call("GetAssignment", request)


async def test_a_worker_says_nothing_in_the_name_of_another_one(client: Client) -> None:
    who = IDENTITY.set(Identity("b", Role.WORKER))
    try:
        service = ClusterService(client.coordinator, TIMING)
        context: Any = None
        for said in (
            service.ReleaseAssignment(pb.ReleaseAssignmentRequest(worker_id="a"), context),
            service.ReportPlan(pb.ReportPlanRequest(worker_id="a"), context),
            service.RequestPlan(pb.RequestPlanRequest(worker_id="a"), context),
        ):
            with pytest.raises(PermissionDenied, match="known as the worker 'b', which may not speak for 'a'"):
                await said
    finally:
        IDENTITY.reset(who)


@LAPSING
async def test_workers_are_listed_with_their_leases(client: Client, connector: Callable[..., Connector]) -> None:
    await client.register("b", labels={"zone": "b"})
    await asyncio.sleep(1.5)
    session = await client.register("a")
    async with client.beating("a", session):
        await client.want(connector())
        [planning] = (await client.next_of(client.watch("a", session))).assignments
        await client.plan("a", session, planning, 3)
        first = await client.call("ListWorkers", pb.ListWorkersRequest(page_size=1))
        [alive] = first.workers
        assert (alive.worker_id, alive.alive, alive.tasks, list(alive.plugins)) == ("a", True, 3, ["file_source"])
        assert 0 < alive.lease_until.ToNanoseconds() / 1e9 - time.time() <= 1.0
        [lost] = (await client.call("ListWorkers", pb.ListWorkersRequest(page_token=first.next_page_token))).workers
        assert (lost.worker_id, lost.alive, dict(lost.labels), lost.HasField("lease_until")) == ("b", False, {"zone": "b"}, False)


async def test_a_worker_that_cannot_join_as_it_says_is_told_all_that_is_wrong(client: Client) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await client.register("not a name", address="nowhere")
    assert [problem.field for problem in refused.value.problems] == ["worker_id", "address"]
    for address in ("", "10.0.0.1:1,10.0.0.2:1", "h\x00:1", "h" * 600 + ":1"):
        with pytest.raises(InvalidArgument, match="host:port"):
            await client.register("a", address=address)


async def test_a_worker_can_offer_other_plugins_in_the_same_session(client: Client) -> None:
    session = await client.register("a")
    request = pb.OfferPluginsRequest(worker_id="a", session=session, plugins=["file_source", "new_source"])
    await client.call("OfferPlugins", request)
    [worker] = (await client.call("ListWorkers", pb.ListWorkersRequest())).workers
    assert (worker.session, list(worker.plugins)) == (session, ["file_source", "new_source"])
    with pytest.raises(FailedPrecondition, match="register again"):
        await client.call("OfferPlugins", pb.OfferPluginsRequest(worker_id="a", session=session - 1))
    request.plugins.extend(map(str, range(MAXIMUM_PLUGINS)))
    with pytest.raises(InvalidArgument, match="too many"):
        await client.call("OfferPlugins", request)


async def test_a_plan_that_cannot_hold_is_refused(client: Client) -> None:
    session = await client.register("a")
    request = pb.ReportPlanRequest(worker_id="a", session=session, connector_uid="u1", epoch=1)
    request.replan_after.FromMilliseconds(1)
    with pytest.raises(InvalidArgument, match="too short"):
        await client.call("ReportPlan", request)


async def test_any_number_of_watchers_sees_the_same(client: Client, connector: Callable[..., Connector]) -> None:
    watches = [client.watch() for _ in range(20)]
    assert all([(await client.next_of(watch)).snapshot for watch in watches])
    await client.want(connector())
    answers = [await client.next_of(watch) for watch in watches]
    assert len({answer.SerializeToString(deterministic=True) for answer in answers}) == 1


async def test_a_worker_says_its_weight_and_is_drained_over_the_wire(client: Client, connector: Callable[..., Connector]) -> None:
    await client.register("a", weight=3, pid=77)
    with pytest.raises(FailedPrecondition, match="last executor") as refused:
        await client.call("DrainWorker", pb.DrainWorkerRequest(worker_id="a"))
    assert refused.value.reason == "NO_OTHER_WORKER"
    await client.register("b")
    drained = (await client.call("DrainWorker", pb.DrainWorkerRequest(worker_id="a"))).worker
    assert (drained.worker_id, drained.weight, drained.drained, drained.alive, drained.tasks) == ("a", 3, True, True, 0)
    await client.want(connector())
    workers = (await client.call("ListWorkers", pb.ListWorkersRequest())).workers
    assert [(worker.weight, worker.drained, worker.plannings) for worker in workers] == [(3, True, 0), (1, False, 1)]
    assert [worker.pid for worker in workers] == [77, 0]
    undrained = (await client.call("UndrainWorker", pb.UndrainWorkerRequest(worker_id="a"))).worker
    assert not undrained.drained


async def test_a_weight_that_is_none_is_refused(client: Client) -> None:
    for weight in (-1, 101):
        with pytest.raises(InvalidArgument, match="use 1 to 100"):
            await client.register("a", weight=weight)


async def test_a_worker_whose_sends_may_last_longer_than_is_waited_for_is_refused(client: Client) -> None:
    within, longer = pb.RegisterWorkerRequest().send_deadline, pb.RegisterWorkerRequest().send_deadline
    within.FromMilliseconds(1)
    longer.FromSeconds(3600)
    with pytest.raises(InvalidArgument, match="ROCKETCONNECT_SEND_DEADLINE_SECONDS"):
        await client.register("a", send_deadline=longer)
    await client.register("a", send_deadline=within)
