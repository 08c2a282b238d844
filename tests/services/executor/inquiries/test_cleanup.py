"""What an executor does about deleted connectors, and what their plugins say."""

from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from grpc.aio import AioRpcError, Metadata
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.config.v1 import config_service_pb2 as config

from rocketconnect_kit.errors import Unavailable
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.source import Plan, Source
from services.executor.contract.answers import CleanedUp, CleanUpFailed
from services.executor.contract.questions import CleanUp
from services.executor.host.jobs.cleanup import clean_up
from services.executor.hosts.fresh import PluginCrashed, PluginLate
from services.executor.inquiries.cleanup import Cleanups

DELETED = 1_000_000.0
CONFIG = {"connector.class": "slots"}


class Services:
    """The config and the cluster service: one cleanup, and the assignments that there are."""

    def __init__(self, *assigned: str) -> None:
        self.taken: list[config.TakeCleanupRequest] = []
        self.reports: list[config.ReportCleanupRequest] = []
        self.assigned = assigned
        self.cluster_is_away = False
        self.is_due = True

    async def TakeCleanup(self, request: config.TakeCleanupRequest, timeout: float) -> config.TakeCleanupResponse:  # noqa: ASYNC109
        self.taken.append(request)
        if not self.is_due:
            return config.TakeCleanupResponse()
        when = Timestamp(seconds=int(DELETED))
        cleanup = config.Cleanup(connector_uid="uid", connector="c", config=CONFIG, delete_time=when)
        return config.TakeCleanupResponse(cleanup=cleanup)

    async def ReportCleanup(self, request: config.ReportCleanupRequest, timeout: float) -> config.ReportCleanupResponse:  # noqa: ASYNC109
        self.reports.append(request)
        return config.ReportCleanupResponse()

    async def ListAssignments(self, request: cluster.ListAssignmentsRequest, timeout: float) -> cluster.ListAssignmentsResponse:  # noqa: ASYNC109
        if self.cluster_is_away:
            raise AioRpcError(grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata(), "away")
        place = int(request.page_token or 0)
        token = str(place + 1) if place + 1 < len(self.assigned) else ""
        units = [cluster.Assignment(connector_uid=uid) for uid in self.assigned[place : place + 1]]
        return cluster.ListAssignmentsResponse(assignments=units, next_page_token=token)


class Hosts:
    """Answers every question with the same."""

    def __init__(self, answer: Any = None) -> None:
        self.asked: list[CleanUp] = []
        self._answer = answer or CleanedUp(called=True)

    async def ask(self, question: CleanUp, seconds: float, what: str) -> Any:
        self.asked.append(question)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def cleanups(services: Any, hosts: Any, *, seconds_later: float = 10) -> Cleanups:
    return Cleanups("worker-1", services, services, hosts, lambda: ["slots"], 30, 3600, lambda: DELETED + seconds_later)


async def test_nothing_is_asked_of_a_plugin_while_nothing_is_due() -> None:
    services, hosts = Services(), Hosts()
    services.is_due = False
    assert not await cleanups(services, hosts).look()
    assert (hosts.asked, services.reports) == ([], [])
    assert list(services.taken[0].plugins) == ["slots"]


async def test_a_plugin_cleans_up_with_the_configuration_and_that_is_reported_of_this_deletion() -> None:
    services, hosts = Services("other"), Hosts()
    assert await cleanups(services, hosts).look()
    (report,) = services.reports
    assert hosts.asked == [CleanUp(CONFIG, "uid")]
    assert (report.worker_id, report.connector_uid, report.delete_time.seconds) == ("worker-1", "uid", int(DELETED))
    assert report.outcome == config.CLEANUP_OUTCOME_DONE


async def test_no_plugin_is_called_while_the_cluster_has_anything_of_the_connector_on_any_page() -> None:
    services, hosts = Services("other", "more", "uid"), Hosts()
    await cleanups(services, hosts).look()
    assert hosts.asked == []
    assert [report.outcome for report in services.reports] == [config.CLEANUP_OUTCOME_TOO_EARLY]


async def test_no_plugin_is_called_while_it_is_not_known_whether_tasks_are_left() -> None:
    services, hosts = Services(), Hosts()
    services.cluster_is_away = True
    with pytest.raises(Unavailable):
        await cleanups(services, hosts).look()
    assert (hosts.asked, services.reports) == ([], [])


@pytest.mark.parametrize(
    ("answer", "later", "outcome"),
    [
        (CleanedUp(called=False), 10, config.CLEANUP_OUTCOME_NOTHING),
        (CleanUpFailed("away", permanent=False), 10, config.CLEANUP_OUTCOME_FAILED),
        (CleanUpFailed("away", permanent=False), 3_599, config.CLEANUP_OUTCOME_FAILED),
        (CleanUpFailed("away", permanent=False), 3_601, config.CLEANUP_OUTCOME_GIVEN_UP),
        (CleanUpFailed("away", permanent=True), 10, config.CLEANUP_OUTCOME_GIVEN_UP),
        (PluginLate("away"), 10, config.CLEANUP_OUTCOME_FAILED),
        (PluginCrashed("away"), 3_601, config.CLEANUP_OUTCOME_GIVEN_UP),
    ],
)
async def test_what_fails_is_tried_again_until_the_time_is_over_and_never_when_the_plugin_says_it_can_not_help(
    answer: Any, later: float, outcome: int
) -> None:
    services = Services()
    await cleanups(services, Hosts(answer), seconds_later=later).look()
    (report,) = services.reports
    assert report.outcome == outcome
    assert report.error == ("" if outcome == config.CLEANUP_OUTCOME_NOTHING else "away")


class Plain(Source):
    name = "plain"

    def plan(self, config: Config, max_tasks: int, positions: Any) -> Plan:
        raise NotImplementedError

    def open(self, config: Config, task: Any, context: Any) -> Any:
        raise NotImplementedError


class Slots(Plain):
    name = "slots"
    options = (Option("password", "A secret.", secret=True),)

    def deleted(self, config: Config, connector_uid: str) -> None:
        raise FAILURES[config["topic"]](f"the password {config['password']} is wrong")


FAILURES = {"away": SystemAway, "never": PermanentError, "defect": ZeroDivisionError}


@pytest.mark.parametrize(("topic", "permanent"), [("away", False), ("never", True), ("defect", False)])
def test_a_plugin_that_fails_is_told_without_the_secrets_that_were_resolved_for_it(
    monkeypatch: pytest.MonkeyPatch, topic: str, permanent: bool
) -> None:
    monkeypatch.setattr(loader, "find", lambda _name: Slots())
    monkeypatch.setenv("SLOTS_PASSWORD", "sesame-sesame")
    answer = clean_up(CONFIG | {"topic": topic, "password": "${env:SLOTS_PASSWORD}"}, "uid")
    assert isinstance(answer, CleanUpFailed)
    assert (answer.permanent, "the password *** is wrong" in answer.error) == (permanent, True)


def test_a_secret_that_is_not_known_here_is_tried_again_since_another_executor_may_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "find", lambda _name: Slots())
    answer = clean_up(CONFIG | {"topic": "t", "password": "${env:NOT_SET_ANYWHERE}"}, "uid")
    assert isinstance(answer, CleanUpFailed)
    assert (answer.permanent, "NOT_SET_ANYWHERE" in answer.error) == (False, True)


def test_a_plugin_that_leaves_nothing_behind_is_not_called_even_if_its_configuration_is_wrong_by_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loader, "find", lambda _name: Plain())
    assert clean_up({"connector.class": "plain", "max.tasks": "many"}, "uid") == CleanedUp(called=False)


@pytest.mark.parametrize(("source", "sink", "permanent"), [("away", "never", False), ("never", "never", True)])
def test_of_a_direct_connector_both_are_called_and_again_as_long_as_one_of_them_may_succeed(
    monkeypatch: pytest.MonkeyPatch, source: str, sink: str, permanent: bool
) -> None:
    called = []

    def deleted(plugin: Any, config: Config, connector_uid: str) -> None:
        called.append((plugin.name, connector_uid))
        raise FAILURES[source if isinstance(plugin, Source) else sink](plugin.name)

    for name in ("file_source", "file_lines"):
        monkeypatch.setattr(type(loader.find(name)), "deleted", deleted, raising=False)
    config = {
        "connector.class": "direct",
        "source.connector.class": "file_source",
        "source.filename": "/in.txt",
        "sink.connector.class": "file_lines",
        "sink.filename": "/out.txt",
    }
    answer = clean_up(config, "uid")
    assert (called, answer) == (
        [("file_source", "uid"), ("file_lines", "uid")],
        CleanUpFailed("file_source; file_lines", permanent),
    )
