"""What is wrong with a request of the position service, all at once. Pure."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from rocketconnect_kit.errors import FieldProblem, InvalidArgument
from rocketconnect_sdk.wording.counts import counted
from services.position.domain import Fence
from services.position.fencing import LONGEST_LEASE
from services.position.snapshots import moves

MAXIMUM_PARTITION = 1_024
MAXIMUM_PARTITION_BYTES = 2_048
"""What fits into PostgreSQL's index beside the uid."""
MAXIMUM_OFFSET = 1_024
MAXIMUM_RESUME = 256 * 1024
MAXIMUM_UPDATES = 10_000
MAXIMUM_FENCES = 10_000
MAXIMUM_FORGOTTEN = 1_000
MAXIMUM_WORKER = 128
MAXIMUM_GROUP = 255

_MAXIMUM_TOLD = 100
_UID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_OFFSET = re.compile(r"\[(-?\d+(,-?\d+)*)?\]", re.ASCII)
_OFFSET_FIX = "write a JSON array of integers, such as [1048576]"


def confirm_problems(fences: Sequence[Fence], lease: int) -> list[FieldProblem]:
    """Return what is wrong with tasks that are to be confirmed for so many microseconds."""
    problems = []
    if len(fences) > MAXIMUM_FENCES:
        fix = f"confirm at most {MAXIMUM_FENCES:,} at once"
        problems.append(FieldProblem("fences", "", f"holds {counted(fences, 'task')}", fix))
    names = Counter((fence.connector_uid, fence.task) for fence in fences)
    if names and (twice := names.most_common(1)[0])[1] > 1:
        problems.append(FieldProblem("fences", f"{twice[0][0][:128]}/{twice[0][1]}", "is named twice", "name each task once"))
    if not 0 < lease <= LONGEST_LEASE:
        seconds, most = lease / 1_000_000, LONGEST_LEASE // 1_000_000
        problems.append(FieldProblem("lease", f"{seconds:g} s", "is no lease", f"ask for more than 0 and at most {most} s"))
    return [*problems, *(problem for fence in fences[:MAXIMUM_FENCES] for problem in fence_problems(fence))]


def send_deadline_problems(send_deadline: int) -> list[FieldProblem]:
    """Return what is wrong with a send deadline of so many microseconds."""
    if 0 <= send_deadline <= LONGEST_LEASE:
        return []
    seconds, most = send_deadline / 1_000_000, LONGEST_LEASE // 1_000_000
    return [FieldProblem("send_deadline", f"{seconds:g} s", "is no send deadline", f"give 0 to {most} s")]


def fence_problems(fence: Fence) -> list[FieldProblem]:
    """Return what is wrong with who speaks."""
    problems = []
    if not _UID.fullmatch(fence.connector_uid):
        fix = "give the uid of the connector, as the config service tells it"
        problems.append(FieldProblem("fence.connector_uid", fence.connector_uid[:128], "is not a uid", fix))
    for name, value in (("task", fence.task), ("generation", fence.generation), ("epoch", fence.epoch)):
        if value < 0:
            problems.append(FieldProblem(f"fence.{name}", str(value), "is negative", "give the one of the assignment"))
    return problems


def uids_problems(uids: Sequence[str]) -> list[FieldProblem]:
    """Return what is wrong with the connectors that are to be forgotten."""
    if len(uids) > MAXIMUM_FORGOTTEN:
        fix = f"forget at most {MAXIMUM_FORGOTTEN:,} at once"
        return [FieldProblem("connector_uids", "", f"holds {counted(uids, 'connector')}", fix)]
    fix = "give the uids of the connectors, as the config service tells them"
    return [FieldProblem("connector_uids", uid[:128], "is not a uid", fix) for uid in uids if not _UID.fullmatch(uid)]


def worker_problems(worker_id: str) -> list[FieldProblem]:
    """Return what is wrong with the id of a worker."""
    if len(worker_id) <= MAXIMUM_WORKER:
        return []
    reason = f"is {counted(len(worker_id), 'character')} long"
    return [FieldProblem("worker_id", worker_id[:64] + "...", reason, "give the id under which the worker joined the cluster")]


def partition_problems(field: str, partition: str) -> list[FieldProblem]:
    """Return what is wrong with the name of a partition."""
    if not partition:
        return [FieldProblem(f"{field}.partition", "", "is empty", "name the partition")]
    if len(partition) > MAXIMUM_PARTITION:
        reason = f"is {counted(len(partition), 'character')} long"
        return [FieldProblem(f"{field}.partition", partition[:64] + "...", reason, f"use at most {MAXIMUM_PARTITION:,}")]
    if len(partition.encode()) > MAXIMUM_PARTITION_BYTES:
        reason = f"is {counted(partition.encode(), 'byte')} long"
        fix = f"use at most {MAXIMUM_PARTITION_BYTES:,} bytes of UTF-8"
        return [FieldProblem(f"{field}.partition", partition[:64] + "...", reason, fix)]
    if "\0" in partition:
        return [FieldProblem(f"{field}.partition", partition, "has the character U+0000", "leave it out")]
    return []


def offset_problems(field: str, text: str) -> list[FieldProblem]:
    """Return what is wrong with an offset."""
    if canonical_offset(text) is None:
        reason = "is empty" if not text else "is not an offset"
        return [FieldProblem(field, text[:64], reason, f"{_OFFSET_FIX}, of at most {MAXIMUM_OFFSET:,} characters")]
    return []


def resume_problems(field: str, resume: str) -> list[FieldProblem]:
    """Return what is wrong with the resume information, which is not looked into."""
    if len(resume) > MAXIMUM_RESUME:
        return [
            FieldProblem(f"{field}.resume", "", f"is {counted(len(resume), 'character')} long", f"use at most {MAXIMUM_RESUME:,}")
        ]
    if "\0" in resume:
        return [FieldProblem(f"{field}.resume", "", "has the character U+0000, so it is not JSON", "write JSON")]
    return []


def group_problems(field: str, group: str) -> list[FieldProblem]:
    """Return what is wrong with the name of a consumer group; "" is none."""
    if len(group) <= MAXIMUM_GROUP and group.isprintable():
        return []
    fix = f"use at most {MAXIMUM_GROUP} printable characters"
    return [FieldProblem(f"{field}.reset_group", repr(group[:64]), "names no consumer group", fix)]


def movable_problems(field: str, partition: str) -> list[FieldProblem]:
    """Return what is wrong with moving a partition by hand."""
    if not moves(partition):
        fix = "leave it out: the runtime looks after it"
        return [FieldProblem(f"{field}.partition", partition[:64], "is a row that the runtime keeps for itself", fix)]
    return []


def restored_problems(field: str, resume: str) -> list[FieldProblem]:
    """Return what is wrong with resume information that comes from outside."""
    problems = resume_problems(field, resume)
    if problems or not resume:
        return problems
    try:
        value = json.loads(resume, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return []
    # What it is may be a secret of the source.
    reason = "is not a JSON object (nor does JSON have NaN and Infinity)"
    return [FieldProblem(f"{field}.resume", "", reason, "take it as it was exported, or leave it out")]


def _no_constant(name: str) -> None:
    raise ValueError(name)


def list_problems(field: str, partitions: list[str]) -> list[FieldProblem]:
    """Return what is wrong with a list of partitions as a whole: too many, or one twice."""
    problems = []
    if len(partitions) > MAXIMUM_UPDATES:
        fix = f"send at most {MAXIMUM_UPDATES:,} at once"
        problems.append(FieldProblem(field, "", f"holds {counted(partitions, 'position')}", fix))
    if len(set(partitions)) < len(partitions):
        twice = Counter(partitions).most_common(1)[0][0]
        problems.append(FieldProblem(field, twice[:64], "names a partition twice", "name each once"))
    return problems


def canonical_offset(text: str) -> str | None:
    """Return the offset in the one form in which offsets are stored and compared; None when it is not an offset."""
    if _OFFSET.fullmatch(text) is None:
        return _reformatted(text)
    numbers = text[1:-1].split(",") if len(text) > 2 else []
    plain = len(text) <= 256 and all(_is_canonical(number) for number in numbers)
    return text if plain else _reformatted(text)


def refuse(problems: Iterable[FieldProblem]) -> None:
    """Raise InvalidArgument (POSITION_INVALID) naming all problems, if there are any."""
    found = list(problems)
    if found:
        told = found[:_MAXIMUM_TOLD]
        heading = counted(found, "problem")
        message = f"{heading}: " + ". ".join(str(problem) for problem in told)
        raise InvalidArgument("POSITION_INVALID", message[:4_000], told)


def _is_canonical(number: str) -> bool:
    digits = number.removeprefix("-")
    return len(digits) <= 18 and (digits == "0" or digits[0] != "0") and number != "-0"


def _reformatted(text: str) -> str | None:
    if len(text) > MAXIMUM_OFFSET:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    # A bool is an int to Python, not to whoever reads the offset.
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        return None
    return json.dumps(value, separators=(",", ":"))
