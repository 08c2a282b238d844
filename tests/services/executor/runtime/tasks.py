"""One task in a process of its own, for tests that kill it: `python tasks.py '{"kind": ..., ...}'`.

Its lease is as long as the test lasts. It writes a line of JSON for each state, reads signals from its standard input, a line of
JSON each, and stops at the end of it.
"""

import json
import logging
import sys
import threading

from rocketconnect_kit.clock import boot_seconds
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.spans import Span
from services.executor.contract.task import Kind, State, TaskSpec
from services.executor.runtime.run import run_task
from services.executor.runtime.task.control import Asked, TaskControl
from services.executor.runtime.task.lease import Lease


def say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class PrintingReporter:
    def __init__(self) -> None:
        self.metrics = TaskMetrics()

    def state(self, state: State, trace: str = "") -> None:
        say(state=state.name, trace=trace)

    def doing(self, what: str) -> None:
        pass

    def progress(self) -> None:
        pass

    def work(self, has_work: bool) -> None:
        pass

    def ask_for_plan(self) -> None:
        say(asks_for_plan=True)

    def span(self, span: Span) -> None:
        say(span=span.name)

    def log(self, level: str, message: str) -> None:
        say(log=level, message=message)


def follow_the_input(control: TaskControl) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        control.signal(Asked(asked["signal"], asked["arguments"], lambda text, trouble: say(answer=text, trouble=trouble)))
    control.stop()


def main() -> None:
    order = json.loads(sys.argv[1])
    logging.basicConfig(level=logging.INFO)
    control = TaskControl()
    lease = Lease()
    lease.renew(boot_seconds() + 600)
    spec = TaskSpec(
        Kind[order["kind"]],
        order["name"],
        order["uid"],
        1,
        order["generation"],
        order["task"],
        order["epoch"],
        order["tasks"],
        order["config"],
        order["task_config"],
    )
    threading.Thread(target=follow_the_input, args=(control,), daemon=True).start()
    outcome = run_task(
        spec, control, lease, PrintingReporter(), Endpoints(order["name_servers"], order["position"], send_deadline=1.0)
    )
    say(clean=outcome.clean, error=outcome.error)


if __name__ == "__main__":
    main()
