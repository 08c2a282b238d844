"""Under which application transaction ids a Delta table keeps the versions of a connector's tasks. Pure.

The version of an id is a number of 63 bits, in which there is room for epochs until 2043. A clock that was wrong may have raised
them beyond that, for good: such versions are in an id of their own for their upper bits, and the one before it is closed.
"""

from collections.abc import Mapping

from rocketconnect_sdk.targets.claims import Claims, Version, closed, unpacked

_BITS = 63
_UPPER = "@"


def id_of(task: int, version: Version) -> tuple[str, int]:
    """The id, behind the prefix of the connector, and its version."""
    upper, lower = divmod(version.packed, 1 << _BITS)
    return (f"{task}{_UPPER}{upper}" if upper else str(task)), lower


def claims_of(plan: int, found: Mapping[str, int]) -> Claims:
    """What a table knows of the owners, by its versions of all ids behind the prefix, without that of the plan."""
    tasks: dict[int, Version] = {}
    for name, number in found.items():
        task, version = _version_of(name, number)
        tasks[task] = max(version, tasks.get(task, version))
    return Claims(plan, tasks)


def left_by(found: Mapping[str, int], task: int, version: Version) -> dict[str, int]:
    """What a claim of a version stores besides: the other ids of the task, closed, so that their owner commits nothing more."""
    taken = id_of(task, version)[0]
    others = (_version_of(name, number) for name, number in found.items() if name != taken)
    return dict(id_of(task, closed(before)) for other, before in others if other == task)


def _version_of(name: str, number: int) -> tuple[int, Version]:
    task, _, upper = name.partition(_UPPER)
    return int(task), unpacked(int(upper or 0) << _BITS | number)
