"""One task in a process of its own, for tests that kill it: `python tasks.py '{"kind": ..., ...}'`.

Its lease is as long as the test lasts. It writes a line of JSON for each state, and reads "stop" from its standard input.
"""

import json
import sys
import threading
import time

from services.executor.runtime.task import Endpoints, Kind, Lease, State, TaskControl, TaskMetrics, TaskSpec, run_task


def say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class PrintingReporter:
    def __init__(self) -> None:
        self.metrics = TaskMetrics()

    def state(self, state: State, trace: str = "") -> None:
        say(state=state.name, trace=trace)

    def progress(self) -> None:
        pass

    def work(self, has_work: bool) -> None:
        pass

    def log(self, level: str, message: str) -> None:
        say(log=level, message=message)


def stop_at_the_end_of_input(control: TaskControl) -> None:
    sys.stdin.read()
    control.stop()


def main() -> None:
    order = json.loads(sys.argv[1])
    control = TaskControl()
    lease = Lease()
    lease.renew(time.monotonic() + 600)
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
    threading.Thread(target=stop_at_the_end_of_input, args=(control,), daemon=True).start()
    outcome = run_task(
        spec, control, lease, PrintingReporter(), Endpoints(order["name_servers"], order["position"], send_deadline=0.2)
    )
    say(clean=outcome.clean, error=outcome.error)


if __name__ == "__main__":
    main()
