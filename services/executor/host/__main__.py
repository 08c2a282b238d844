"""Runs a host process: `python -m services.executor.host SOCKET_FD EXECUTOR_PID`, or a copy of one that has loaded this module.

Only the executor starts it.
"""

import faulthandler
import gc
import os
import socket
import sys
import threading
import traceback
from typing import NoReturn

import services.executor.runtime.run  # noqa: F401 - what every task needs takes a while to load
from rocketconnect_sdk.permissions.connections import guard
from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS, EVERYWHERE
from services.executor.contract.messages import Begin, DirectTask, Exit, LogLevels, Order, Renew, SignalTask, StartSpark, StartTask
from services.executor.contract.questions import (
    ChangeRows,
    CheckConnector,
    CheckLetters,
    CheckPositions,
    CleanUp,
    FindPlugins,
    PeekTopic,
    PlanConnector,
    PreviewConnector,
    Question,
    ReadAgain,
    ReadRows,
    ResolvePositions,
    VerifyConnector,
)
from services.executor.host.jobs import cleanup
from services.executor.host.jobs import plugins as plugin_jobs
from services.executor.host.jobs import positions as places
from services.executor.host.jobs.letters import answering as letters
from services.executor.host.jobs.peek import peek
from services.executor.host.jobs.preview import preview
from services.executor.host.jobs.verification import verify
from services.executor.host.levels import HostLevels
from services.executor.host.limits import limit_to_readers
from services.executor.host.line import Line
from services.executor.host.logging_lines import say_in_lines
from services.executor.host.output import clean_output, flush_output
from services.executor.host.parent import end_with_parent, ignore_signals
from services.executor.host.spark import SparkDriver
from services.executor.host.tasks import Tasks

_COLLECT_AFTER = (100_000, 50, 100)
"""Objects made and not freed, then runs over the youngest, then over those that have outlived one."""


def run(descriptor: int, parent: int) -> NoReturn:
    """Take orders from a socket until the executor, which is the parent, ends or one of them ends this process."""
    try:
        _run(descriptor, parent)
    except BaseException:
        # A defect: the process ends at once, whatever threads plugins have started in it.
        traceback.print_exc()
    flush_output()
    os._exit(1)


def _run(descriptor: int, parent: int) -> None:
    end_with_parent(parent)
    ignore_signals()
    clean_output()
    levels = HostLevels(say_in_lines())
    # A crash in native code (a driver of a database, Arrow) then says where.
    faulthandler.enable(sys.__stderr__ or sys.stderr)
    # Records are many objects, and none refers to itself: by default half of the time for changes of tables went into looking
    # through them.
    gc.set_threshold(*_COLLECT_AFTER)
    guard(os.environ.get(CONNECTOR_HOSTS, EVERYWHERE))
    connection = socket.socket(fileno=descriptor)
    # Programs that plugins start must not hold the socket open when this process has ended.
    connection.set_inheritable(False)
    line = Line(connection)
    tasks = Tasks(line)
    for order in line.orders():
        _carry_out(order, line, tasks, levels)
    # Whatever runs here runs for an executor that is gone.
    os._exit(Exit.PARENT_GONE)


def _carry_out(order: Order, line: Line, tasks: Tasks, levels: HostLevels) -> None:
    match order:
        case Begin():
            tasks.begin(order.endpoints)
        case Renew():
            tasks.lease.renew(order.until)
        case StartTask():
            levels.runs(order.spec.connector)
            tasks.start(order)
        case LogLevels():
            levels.set(order)
        case DirectTask():
            tasks.direct(order)
        case SignalTask():
            tasks.signal(order)
        case StartSpark():
            tasks.driver = SparkDriver(order, line)
            tasks.driver.warm_up()
        case (
            CheckConnector()
            | PlanConnector()
            | CheckPositions()
            | ResolvePositions()
            | PreviewConnector()
            | PeekTopic()
            | VerifyConnector()
            | CheckLetters()
            | ReadAgain()
            | ReadRows()
            | ChangeRows()
            | CleanUp()
            | FindPlugins()
        ):
            # In a thread of its own: this one sees when the executor ends.
            threading.Thread(target=_answer, args=(order, line), daemon=True).start()


def _answer(order: Question, line: Line) -> None:
    match order:
        case CheckConnector():
            line.send(plugin_jobs.check(order))
        case PlanConnector():
            line.send(plugin_jobs.plan(order.config, order.positions))
        case CheckPositions():
            line.send(places.check(order))
        case ResolvePositions():
            line.send(places.resolve(order))
        case PreviewConnector():
            line.send(preview(order))
        case PeekTopic():
            if order.reader_hosts is not None:
                limit_to_readers(order.reader_hosts)
            line.send(peek(order))
        case VerifyConnector():
            line.send(verify(order))
        case CheckLetters() | ReadAgain() | ReadRows() | ChangeRows():
            line.send(letters.answer(order))
        case CleanUp():
            line.send(cleanup.clean_up(order.config, order.connector_uid))
        case FindPlugins():
            line.send(plugin_jobs.find_plugins())
    flush_output()
    # Not by returning: threads and exit handlers of a plugin could keep the process.
    os._exit(0)


if __name__ == "__main__":
    run(*(int(argument) for argument in sys.argv[1:]))
