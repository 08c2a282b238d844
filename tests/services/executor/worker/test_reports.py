"""What the state service is told, and what happens while it is away."""

import asyncio

import grpc
import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

from services.executor.contract.assignment import PLAN, Assigned, Key
from services.executor.contract.messages import LogLine, TaskPulse
from services.executor.contract.metrics import QueueLag, SourcePosition, TaskMetrics
from services.executor.contract.task import State
from services.executor.worker.reports import LOG_LINES, Reports
from services.executor.worker.task_lines import TaskLines

KEY = Key("uid", 0)


def assigned(epoch: int = 1, *, key: Key = KEY, **config: str) -> Assigned:
    return Assigned(key, "orders", 1, 4, epoch, "SOURCE", {name.replace("_", "."): value for name, value in config.items()})


def pulse(state: State = State.RUNNING, trace: str = "", logs: tuple[str, ...] = ()) -> TaskPulse:
    lines = [LogLine(1.5, "INFO", text) for text in logs]
    metrics = TaskMetrics(records_in=3, lags=(QueueLag("t/b/0", 2, 5),), source_positions=(SourcePosition("/a", 9),))
    return TaskPulse(1, state, trace, 100.25, 200.5, True, metrics, lines)


class StateService:
    """Takes reports, or is away."""

    def __init__(self) -> None:
        self.away = False
        self.requests: list[states.ReportTasksRequest] = []
        self.response = states.ReportTasksResponse()

    async def report(self, request: states.ReportTasksRequest) -> states.ReportTasksResponse:
        if self.away:
            raise grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "away")
        self.requests.append(request)
        return self.response

    @property
    def logs(self) -> list[str]:
        return [log.message for request in self.requests for report in request.reports for log in report.logs]


@pytest.fixture
def service() -> StateService:
    return StateService()


@pytest.fixture
def refused() -> list[tuple[Key, int]]:
    return []


@pytest.fixture
def reports(service: StateService, refused: list[tuple[Key, int]]) -> Reports:
    return Reports("worker-1", service.report, lambda key, epoch: refused.append((key, epoch)))


async def test_a_report_says_all_that_is_known_of_a_task(reports: Reports, service: StateService) -> None:
    reports.started(assigned(stall_timeout="5s"), 2)
    reports.pulse(assigned(stall_timeout="5s"), pulse(State.WAITING, "the broker is away", ("a line",)))
    assert await reports.flush()
    (request,) = service.requests
    (report,) = request.reports
    assert request.worker_id == "worker-1"
    assert (report.connector_uid, report.task, report.generation, report.epoch, report.restarts) == ("uid", 0, 4, 1, 2)
    assert (report.state, report.trace, report.has_work) == (connectors.STATE_WAITING, "the broker is away", True)
    assert (report.since.ToMilliseconds(), report.last_progress.ToMilliseconds()) == (100_250, 200_500)
    assert (report.metrics.records_in, report.metrics.lags[0].queue, report.stall_after.seconds) == (3, "t/b/0", 5)
    assert [(at.partition, at.offset) for at in report.metrics.source_positions] == [("/a", 9)]
    assert [(log.message, log.task, log.worker_id) for log in report.logs] == [("a line", 0, "worker-1")]


@pytest.mark.parametrize("counted", [True, False], ids=["the run failed", "its process died"])
async def test_a_failure_counts_as_one_error_whoever_found_it(reports: Reports, service: StateService, counted: bool) -> None:
    reports.started(assigned(), 0)
    last = pulse(State.FAILED if counted else State.RUNNING, "no such table" if counted else "")
    last.metrics.errors = 1 if counted else 0
    reports.pulse(assigned(), last)
    reports.ended(assigned(), State.FAILED, "no such table" if counted else "its process died")
    assert await reports.flush()
    assert service.requests[0].reports[0].metrics.errors == 1


async def test_a_log_line_is_sent_once(reports: Reports, service: StateService) -> None:
    reports.started(assigned(), 0)
    reports.pulse(assigned(), pulse(logs=("once",)))
    await reports.flush()
    await reports.flush()
    assert service.logs == ["once"]


async def test_while_the_service_is_away_the_newest_state_and_the_log_lines_are_kept(
    reports: Reports, service: StateService
) -> None:
    service.away = True
    reports.started(assigned(), 0)
    reports.pulse(assigned(), pulse(State.RUNNING, logs=("first",)))
    assert not await reports.flush()
    reports.pulse(assigned(), pulse(State.IDLE, logs=("second",)))
    service.away = False
    assert await reports.flush()
    assert service.requests[0].reports[0].state == connectors.STATE_IDLE
    assert service.logs == ["first", "second"]


async def test_log_lines_beyond_the_limit_are_dropped_and_counted(reports: Reports, service: StateService) -> None:
    service.away = True
    reports.started(assigned(), 0)
    for number in range(LOG_LINES + 7):
        reports.pulse(assigned(), pulse(logs=(f"line {number}",)))
        if number % 100 == 0:
            await reports.flush()
    service.away = False
    await reports.flush()
    assert service.logs[0].startswith("7 log lines before this one were dropped")
    assert service.logs[1] == "line 7"
    assert service.logs[-1] == f"line {LOG_LINES + 6}"


async def test_a_flood_of_long_lines_is_spread_over_several_reports(reports: Reports, service: StateService) -> None:
    reports.started(assigned(), 0)
    reports.pulse(assigned(), pulse(logs=tuple("x" * 16_000 for _ in range(200))))
    for _ in range(5):
        await reports.flush()
    assert len(service.logs) == 200
    assert max(request.ByteSize() for request in service.requests) < 1_200_000


async def test_the_last_word_is_sent_until_it_arrives_and_then_forgotten(reports: Reports, service: StateService) -> None:
    reports.started(assigned(), 0)
    service.away = True
    reports.ended(assigned(), State.FAILED, "no such table")
    reports.forget(KEY, 1)
    assert not await reports.flush()
    service.away = False
    await reports.flush()
    await reports.flush()
    (request,) = service.requests
    assert (request.reports[0].state, request.reports[0].trace) == (connectors.STATE_FAILED, "no such table")


async def test_what_is_no_longer_ours_is_not_reported_any_more(reports: Reports, service: StateService) -> None:
    reports.started(assigned(), 0)
    reports.forget(KEY, 1)
    assert await reports.flush()
    assert service.requests == []


async def test_a_late_word_of_an_older_epoch_is_dropped(reports: Reports, service: StateService) -> None:
    reports.started(assigned(1), 0)
    reports.started(assigned(2), 0)
    reports.pulse(assigned(1), pulse(State.FAILED))
    reports.ended(assigned(1), State.FAILED, "old")
    await reports.flush()
    assert [(report.epoch, report.state) for report in service.requests[0].reports] == [(2, connectors.STATE_STARTING)]


async def test_a_refused_report_is_told(reports: Reports, service: StateService, refused: list[tuple[Key, int]]) -> None:
    service.response.refused.add(connector_uid="uid", task=0, epoch=1, current_epoch=2)
    reports.started(assigned(), 0)
    await reports.flush()
    assert refused == [(KEY, 1)]


async def test_nothing_is_lost_when_the_caller_does_not_wait_for_an_answer(service: StateService) -> None:
    answer = asyncio.Event()

    async def slow(request: states.ReportTasksRequest) -> states.ReportTasksResponse:
        await answer.wait()
        return await service.report(request)

    reports = Reports("worker-1", slow, lambda _key, _epoch: None)
    reports.started(assigned(), 0)
    reports.pulse(assigned(), pulse(logs=("kept",)))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await reports.flush()
    answer.set()
    await reports.flush()
    assert service.logs == ["kept"]


async def test_changes_are_reported_soon_and_the_rest_once_a_second(reports: Reports, service: StateService) -> None:
    task = asyncio.create_task(reports.run())
    reports.started(assigned(), 0)
    reports.pulse(assigned(), pulse(State.RUNNING))
    await asyncio.sleep(0.3)
    assert [request.reports[0].state for request in service.requests] == [connectors.STATE_RUNNING]
    await asyncio.sleep(1.2)
    assert len(service.requests) == 2
    task.cancel()


async def test_a_planning_never_stalls(reports: Reports, service: StateService) -> None:
    reports.started(assigned(key=Key("uid", PLAN)), 0)
    await reports.flush()
    assert not service.requests[0].reports[0].HasField("stall_after")


def named(request: states.ReportTasksRequest) -> tuple[int, list[str]]:
    return request.receipt, [report.connector_uid for report in request.reports]


async def test_with_a_receipt_only_what_is_new_is_named(reports: Reports, service: StateService) -> None:
    tasks = [assigned(key=Key(f"u{number}", 0)) for number in range(3)]
    for task in tasks:
        reports.started(task, 0)
    for receipt, change in ((5, None), (6, None), (7, tasks[1]), (8, None)):
        service.response.receipt = receipt
        if change is not None:
            reports.pulse(change, pulse(State.IDLE))
        assert await reports.flush()
        if change is not None:
            # The same again is no news.
            reports.pulse(change, pulse(State.IDLE))
    everything = ["u0", "u1", "u2"]
    assert list(map(named, service.requests)) == [(0, everything), (5, []), (6, ["u1"]), (7, [])]


async def test_everything_is_named_when_something_has_left_and_when_it_is_not_known_what_arrived(
    reports: Reports, service: StateService
) -> None:
    for number in range(3):
        reports.started(assigned(key=Key(f"u{number}", 0)), 0)
    service.response.receipt = 5
    await reports.flush()
    reports.forget(Key("u0", 0), 1)
    await reports.flush()
    service.away = True
    await reports.flush()
    service.away = False
    service.response.receipt = 0
    await reports.flush()
    await reports.flush()
    everything = ["u1", "u2"]
    assert list(map(named, service.requests)) == [(0, ["u0", *everything]), (0, everything), (0, everything), (0, everything)]


async def test_what_left_while_an_answer_was_on_its_way_makes_the_next_report_whole(service: StateService) -> None:
    async def late(request: states.ReportTasksRequest) -> states.ReportTasksResponse:
        telling.forget(Key("u0", 0), 1)
        return await service.report(request)

    telling = Reports("worker-1", late, lambda _key, _epoch: None)
    for number in range(2):
        telling.started(assigned(key=Key(f"u{number}", 0)), 0)
    service.response.receipt = 5
    for _ in range(3):
        await telling.flush()
    assert list(map(named, service.requests)) == [(0, ["u0", "u1"]), (0, ["u1"]), (5, [])]


async def test_a_receipt_that_is_not_known_any_more_is_answered_with_everything_at_once(
    reports: Reports, service: StateService
) -> None:
    reports.started(assigned(), 0)
    service.response.receipt = 5
    await reports.flush()
    service.response.receipt = 0
    task = asyncio.create_task(reports.run())
    # Before the next interval is over.
    async with asyncio.timeout(1.9):
        while len(service.requests) < 3:
            await asyncio.sleep(0.01)
    task.cancel()
    assert list(map(named, service.requests)) == [(0, ["uid"]), (5, []), (0, ["uid"])]


def test_a_task_that_says_much_says_so_many_lines_a_second_in_the_log_of_the_executor(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    lines = TaskLines(assigned(), lambda: now)
    with caplog.at_level("INFO"):
        lines.say([LogLine(1.5, "WARNING", f"line {number}") for number in range(250)])
        now = 1.0
        lines.say([LogLine(2.5, "ERROR", "failed\nTraceback (most recent call last):\n  at x", "ab" * 16)])
    *_, before, told, last = caplog.records
    assert (before.getMessage(), before.levelname, before.created) == ("line 199", "WARNING", 1.5)
    assert told.getMessage() == "50 more lines were not logged: more than 200 came in a second"
    assert ["trace_id" in each.fields for each in (before, last)] == [False, True]  # type: ignore[attr-defined]
    assert (last.getMessage(), last.exc_text) == ("failed", "Traceback (most recent call last):\n  at x")
