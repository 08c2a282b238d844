"""An assignment as workers and the other services see it."""

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from services.cluster.model import Key, TargetState

if TYPE_CHECKING:
    from services.cluster.state import State


class Unowned(enum.Enum):
    """What a unit is while nobody holds it."""

    UNASSIGNED = "UNASSIGNED"
    RESTARTING = "RESTARTING"
    FAILED = "FAILED"


class AssignmentView(NamedTuple):
    """A unit with all that its owner needs to run it."""

    key: Key
    connector: str
    revision: int
    generation: int
    epoch: int
    type: int
    config: Mapping[str, str]
    task_config: Mapping[str, str]
    paused: bool
    worker: str
    revoked: bool
    failures: int
    unowned: Unowned | None
    reason: str
    settled: bool = False


def view_of(state: "State", key: Key) -> AssignmentView | None:
    """Return the assignment as it is now; None: there is none."""
    unit = state.tables.units.get(key)
    if unit is None:
        return None
    connector = state.tables.connectors[key.connector_uid]
    unowned, reason = (None, "") if unit.is_held else _why_unowned(state, key)
    config, task_config = state.configs_of(unit)
    # By place: by name takes half as long again, and a snapshot may have twenty thousand.
    return AssignmentView(
        key,
        connector.name,
        unit.revision,
        unit.generation,
        unit.epoch,
        connector.type,
        config,
        task_config,
        connector.wanted is TargetState.PAUSED,
        unit.worker,
        unit.revoked,
        unit.failures,
        unowned,
        reason,
        unit.is_held and key in state.settled,
    )


def _why_unowned(state: "State", key: Key) -> tuple[Unowned, str]:
    unit = state.tables.units[key]
    if unit.given_up:
        times = f"{unit.failures} times in a row" if unit.failures > 1 else "for good"
        fix = "change the configuration or restart the connector to try again"
        return Unowned.FAILED, f"failed {times}: {fix}"
    reason = state.reasons.get(key, "")
    if key in state.held_back and unit.failures and not reason:
        times = "once" if unit.failures == 1 else f"{unit.failures} times in a row"
        return Unowned.RESTARTING, f"failed {times}; it is started again after a while"
    return Unowned.UNASSIGNED, reason
