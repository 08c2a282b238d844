"""Levels of loggers are set while the process runs, for a time or until its end."""

import asyncio
import logging
from collections.abc import Iterator

import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration
from rocketconnect.logging.v1 import logging_service_pb2 as pb
from rocketconnect.logging.v1.logging_service_pb2_grpc import LoggingServiceStub, add_LoggingServiceServicer_to_server

from rocketconnect_kit import logs
from rocketconnect_kit.errors import InvalidArgument
from rocketconnect_kit.serving import levels
from rocketconnect_kit.serving.levels import Levels, LoggingService, Told
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.testing import serve_for_test

NAME = "tests.levels"


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """The levels of the tests come back."""
    root = logging.getLogger().level
    yield
    logging.getLogger().setLevel(root)
    logging.getLogger(NAME).setLevel(logging.NOTSET)
    logs.say_from({})


async def test_a_level_is_set_shown_and_given_back() -> None:
    logging.getLogger().setLevel(logging.INFO)
    changed: list[list[Told]] = []
    made = Levels(lambda told: changed.append(list(told)))
    below = logging.getLogger(f"{NAME}.below")
    made.set(NAME, logging.DEBUG)
    assert below.isEnabledFor(logging.DEBUG)
    made.set(NAME, logging.ERROR)
    assert not below.isEnabledFor(logging.WARNING)
    assert [(each.logger, each.level) for each in made.shown()] == [("root", pb.LOG_LEVEL_INFO), (NAME, pb.LOG_LEVEL_ERROR)]
    made.set(NAME, None)
    assert below.isEnabledFor(logging.INFO)
    assert changed == [[Told("", NAME, logging.DEBUG)], [Told("", NAME, logging.ERROR)], []]
    made.set("root", logging.DEBUG)
    assert [each.logger for each in made.shown()] == ["root"]
    made.set("root", None)
    assert logging.getLogger().level == logging.INFO


async def test_a_level_for_a_while_is_given_back_by_itself_and_one_that_follows_it_is_not() -> None:
    made, gone = Levels(), asyncio.Event()
    made.set(NAME, logging.DEBUG, seconds=0.05)
    assert made.shown()[-1].HasField("until")
    made.set(NAME, logging.ERROR)
    ends = Levels(lambda told: None if told else gone.set())
    ends.set(f"{NAME}.other", logging.DEBUG, seconds=0.1)
    await asyncio.wait_for(gone.wait(), 60)
    assert logging.getLogger(NAME).level == logging.ERROR
    assert logging.getLogger(f"{NAME}.other").level == logging.NOTSET


@pytest.mark.parametrize(
    ("request_", "wrong"),
    [
        (pb.SetLogLevelRequest(level=pb.LOG_LEVEL_DEBUG), ["logger"]),
        (pb.SetLogLevelRequest(logger="a..b"), ["logger"]),
        (pb.SetLogLevelRequest(logger="a\nb", level=pb.LOG_LEVEL_DEBUG), ["logger"]),
        (pb.SetLogLevelRequest(logger="a" * 201), ["logger"]),
        (pb.SetLogLevelRequest(logger="a", lasts=Duration(seconds=-1)), ["lasts"]),
        (pb.SetLogLevelRequest(logger="a", lasts=Duration(seconds=8 * 86400)), ["lasts"]),
        (pb.SetLogLevelRequest(logger="", connector="c", service="config", worker_id="w"), ["logger", "service", "service"]),
    ],
)
async def test_what_can_not_be_set_is_refused_with_everything_that_is_wrong(
    request_: pb.SetLogLevelRequest, wrong: list[str]
) -> None:
    def add(server: grpc.aio.Server) -> None:
        add_LoggingServiceServicer_to_server(LoggingService("config", Levels()), server)

    async with serve_for_test(add) as opened:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await LoggingServiceStub(opened).SetLogLevel(request_, timeout=60)
    error = decode(raised.value)
    assert isinstance(error, InvalidArgument)
    assert (error.reason, [each.field for each in error.problems]) == ("LEVEL_INVALID", wrong)


async def test_a_level_that_later_versions_know_is_refused() -> None:
    request = pb.SetLogLevelRequest.FromString(pb.SetLogLevelRequest(logger="a").SerializeToString() + b"\x10\x63")
    with pytest.raises(InvalidArgument, match="is no level"):
        levels.check(request)


async def test_no_more_loggers_than_so_many_get_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MOST", 1)
    made = Levels()
    made.set(NAME, logging.DEBUG)
    made.set(NAME, logging.INFO)
    with pytest.raises(InvalidArgument, match="give back one"):
        made.set("another", logging.DEBUG)
    made.set(NAME, None)


@pytest.mark.parametrize(
    ("logger", "connector", "least"),
    [
        ("a.b.c", "", logging.DEBUG),
        ("a.b", "one", logging.DEBUG),
        ("a.x", "one", logging.ERROR),
        ("x", "one", logging.ERROR),
        ("ab", "", logging.WARNING),
    ],
)
def test_what_was_set_for_a_connector_counts_before_what_was_set_for_all(logger: str, connector: str, least: int) -> None:
    told = {
        ("", "a.b"): logging.DEBUG,
        ("", "root"): logging.WARNING,
        ("one", "root"): logging.ERROR,
        ("one", "a.b"): logging.DEBUG,
    }
    assert logs.told_level(told, logger, connector) == least


def test_lines_of_other_processes_pass_by_what_was_set_for_their_logger_and_connector(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        # What passes is decided before it.
        caplog.handler.setLevel(logging.DEBUG)
        logs.say_from({("one", "a"): logging.DEBUG, ("", "b"): logging.ERROR})
        for logger, connector in (("a.b", "one"), ("a.b", "two"), ("b", "one"), ("c", "one")):
            logs.pass_on(logger, logging.DEBUG, f"debug of {logger} {connector}", connector=connector)
            logs.pass_on(logger, logging.INFO, f"info of {logger} {connector}", connector=connector)
    assert [record.getMessage() for record in caplog.records] == [
        "debug of a.b one",
        "info of a.b one",
        "info of a.b two",
        "info of c one",
    ]
