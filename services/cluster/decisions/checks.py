"""What can be wrong with a request, whatever the state of the cluster. All problems at once."""

import re
from collections.abc import Collection, Sequence

from rocketconnect_kit.errors import FieldProblem, InvalidArgument
from rocketconnect_kit.settings import parse_addresses
from services.cluster.decisions.events import Offer, Register, ReportPlan

MAXIMUM_TASKS = 10_000
MAXIMUM_PLUGINS = 10_000
MAXIMUM_LABELS = 100
MAXIMUM_WEIGHT = 100
MAXIMUM_PROCESSES = 1_000
SHORTEST_REPLAN_SECONDS = 1.0

_WORKER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_PROCESS = re.compile(r"[A-Za-z0-9]{0,128}")
_ADDRESS = re.compile(r"[!-~]{1,512}")
_SHOWN = 100


def check_register(event: Register, send_deadline: float) -> None:
    """Return if a worker can join as it says; `send_deadline` is how long the sends of a lost worker are waited for, seconds.

    Raises:
        InvalidArgument: WORKER_INVALID.
    """
    problems = []
    if not _WORKER_ID.fullmatch(event.worker_id):
        fix = "use 1 to 128 letters, digits and . _ : @ -, beginning with a letter or a digit"
        problems.append(FieldProblem("worker_id", event.worker_id[:_SHOWN], "is not a worker id", fix))
    for name in sorted({event.process, *event.ended_processes}):
        if not _PROCESS.fullmatch(name):
            fix = "use up to 128 letters and digits"
            problems.append(FieldProblem("process", name[:_SHOWN], "is no name of a process", fix))
    if len(event.ended_processes) > MAXIMUM_PROCESSES:
        fix = f"use at most {MAXIMUM_PROCESSES}"
        problems.append(FieldProblem("ended_processes", str(len(event.ended_processes)), "are too many", fix))
    problems += _address_problems(event.address)
    problems += _plugin_problems(event.plugins)
    if len(event.labels) > MAXIMUM_LABELS:
        problems.append(FieldProblem("labels", str(len(event.labels)), "are too many", f"use at most {MAXIMUM_LABELS}"))
    if not 1 <= event.weight <= MAXIMUM_WEIGHT:
        problems.append(FieldProblem("weight", str(event.weight), "is no weight", f"use 1 to {MAXIMUM_WEIGHT}"))
    if event.send_deadline > send_deadline:
        # A task of it would run elsewhere while its last send is under way.
        reason = f"is longer than the {send_deadline:g}s that the cluster service waits for the sends of a lost worker"
        fix = "give both the same ROCKETCONNECT_SEND_DEADLINE_SECONDS"
        problems.append(FieldProblem("send_deadline", f"{event.send_deadline:g}s", reason, fix))
    _refuse("WORKER_INVALID", problems)


def check_offer(event: Offer) -> None:
    """Return if a worker can offer that.

    Raises:
        InvalidArgument: WORKER_INVALID.
    """
    _refuse("WORKER_INVALID", _plugin_problems(event.plugins))


def check_report_plan(event: ReportPlan) -> None:
    """Return if a plan can hold.

    Raises:
        InvalidArgument: PLAN_INVALID.
    """
    problems = []
    if len(event.tasks) > MAXIMUM_TASKS:
        problems.append(FieldProblem("tasks", str(len(event.tasks)), "are too many", f"plan at most {MAXIMUM_TASKS}"))
    if event.replan_after is not None and event.replan_after < SHORTEST_REPLAN_SECONDS:
        fix = f"use {SHORTEST_REPLAN_SECONDS:g}s or more, or leave it out"
        problems.append(FieldProblem("replan_after", f"{event.replan_after:g}s", "is too short", fix))
    _refuse("PLAN_INVALID", problems)


def _plugin_problems(plugins: Collection[str]) -> list[FieldProblem]:
    if len(plugins) <= MAXIMUM_PLUGINS:
        return []
    return [FieldProblem("plugins", str(len(plugins)), "are too many", f"offer at most {MAXIMUM_PLUGINS}")]


def _address_problems(address: str) -> list[FieldProblem]:
    try:
        if len(parse_addresses(address)) == 1 and _ADDRESS.fullmatch(address):
            return []
        reason = "is not one address"
    except ValueError as error:
        reason = str(error)
    return [FieldProblem("address", address[:_SHOWN], reason, "give host:port of the executor's own server")]


def _refuse(reason: str, problems: Sequence[FieldProblem]) -> None:
    if problems:
        raise InvalidArgument(reason, ". ".join(map(str, problems)), problems)
