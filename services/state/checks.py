"""What can be wrong with a request, whatever the states. All problems at once."""

import re

from rocketconnect.state.v1 import state_service_pb2 as pb

from rocketconnect_kit.errors import FieldProblem, InvalidArgument
from services.state.wire import MAXIMUM_WORD, is_state

MAXIMUM_PROBLEMS = 20
_WORD = re.compile(rf"[!-~]{{1,{MAXIMUM_WORD}}}")


def check_report(request: pb.ReportTasksRequest) -> None:
    """Return if a report can be taken.

    Raises:
        InvalidArgument: REPORT_INVALID.
    """
    problems = []
    if not _WORD.fullmatch(request.worker_id):
        fix = f"give the id under which the worker is registered, at most {MAXIMUM_WORD} characters without spaces"
        problems.append(FieldProblem("worker_id", request.worker_id[:MAXIMUM_WORD], "is not a worker id", fix))
    for number, report in enumerate(request.reports):
        where = f"reports[{number}]"
        problems += _uid_problems(where, report.connector_uid)
        if report.task < -1:
            fix = "use the number of the task, or -1 for the planning"
            problems.append(FieldProblem(f"{where}.task", str(report.task), "is not a task", fix))
        if not is_state(report.state):
            fix = "say what the task does, such as STATE_RUNNING"
            problems.append(FieldProblem(f"{where}.state", str(report.state), "is not a state", fix))
    for number, log in enumerate(request.logs):
        problems += _uid_problems(f"logs[{number}]", log.connector_uid)
    if problems:
        raise InvalidArgument("REPORT_INVALID", ". ".join(map(str, problems[:MAXIMUM_PROBLEMS])), problems[:MAXIMUM_PROBLEMS])


def _uid_problems(where: str, uid: str) -> list[FieldProblem]:
    if _WORD.fullmatch(uid):
        return []
    fix = "give the connector_uid of the assignment"
    return [FieldProblem(f"{where}.connector_uid", uid[:MAXIMUM_WORD], "is not a uid", fix)]
