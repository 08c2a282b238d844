"""Runs a host process: `python -m services.executor.host SOCKET_FD EXECUTOR_PID`. Only the executor starts it."""

import faulthandler
import os
import socket
import sys
import threading
import traceback

from services.executor.host import places, plugin_jobs
from services.executor.host.line import Line
from services.executor.host.output import clean_output, flush_output
from services.executor.host.parent import end_with_parent, ignore_signals
from services.executor.host.spark import SparkDriver
from services.executor.host.tasks import Tasks
from services.executor.messages import (
    Begin,
    CheckConnector,
    CheckPositions,
    DirectTask,
    Exit,
    FindPlugins,
    Order,
    PlanConnector,
    Question,
    Renew,
    ResolvePositions,
    StartSpark,
    StartTask,
)


def main() -> None:
    """Take orders until the executor ends or one of them ends this process."""
    descriptor, parent = (int(argument) for argument in sys.argv[1:])
    end_with_parent(parent)
    ignore_signals()
    clean_output()
    # A crash in native code (a driver of a database, Arrow) then says where.
    faulthandler.enable(sys.__stderr__ or sys.stderr)
    connection = socket.socket(fileno=descriptor)
    # Programs that plugins start must not hold the socket open when this process has ended.
    connection.set_inheritable(False)
    line = Line(connection)
    tasks = Tasks(line)
    # What every task needs takes a while to load: a host that is kept ready has it when its first order comes.
    import services.executor.runtime.run  # noqa: F401

    for order in line.orders():
        _carry_out(order, line, tasks)
    # Whatever runs here runs for an executor that is gone.
    os._exit(Exit.PARENT_GONE)


def _carry_out(order: Order, line: Line, tasks: Tasks) -> None:
    match order:
        case Begin():
            tasks.begin(order.endpoints)
        case Renew():
            tasks.lease.renew(order.until)
        case StartTask():
            tasks.start(order)
        case DirectTask():
            tasks.direct(order)
        case StartSpark():
            tasks.driver = SparkDriver(order.profile, line)
            tasks.driver.warm_up()
        case CheckConnector() | PlanConnector() | CheckPositions() | ResolvePositions() | FindPlugins():
            # In a thread of its own: this one sees when the executor ends.
            threading.Thread(target=_answer, args=(order, line), daemon=True).start()


def _answer(order: Question, line: Line) -> None:
    match order:
        case CheckConnector():
            line.send(plugin_jobs.check(order.config))
        case PlanConnector():
            line.send(plugin_jobs.plan(order.config))
        case CheckPositions():
            line.send(places.check(order))
        case ResolvePositions():
            line.send(places.resolve(order))
        case FindPlugins():
            line.send(plugin_jobs.find_plugins())
    flush_output()
    # Not by returning: threads and exit handlers of a plugin could keep the process.
    os._exit(0)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        # A defect: the process ends at once, whatever threads plugins have started in it.
        traceback.print_exc()
        flush_output()
        os._exit(1)
