"""Positions that a task has moved because somebody has reset its consumer group. Pure."""

from collections.abc import Sequence

from services.position.domain import Change, Effects, Ledger, Update


def followed(ledger: Ledger, updates: Sequence[Update], effects: Effects) -> dict[str, list[Change]]:
    """Return what a commit moves for that reason, by consumer group; nothing where it was stored before."""
    stored = {position.partition: position for position in effects.positions}
    found: dict[str, list[Change]] = {}
    for update in updates:
        if update.reset_group and update.partition in stored:
            before = ledger.positions.get(update.partition)
            change = Change(update.partition, None if before is None else before.offset, update.offset)
            found.setdefault(update.reset_group, []).append(change)
    return found


def mover(group: str) -> str:
    """Return who has moved them, for people."""
    return f"a reset of the group {group}"
