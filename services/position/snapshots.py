"""Where a connector was when a revision of its configuration ended. Pure; `fencing.restore` goes back there.

A snapshot is taken in the transaction that opens the first task of a later revision. That open shuts out every task of the plan
before (invariant 3), so no commit of the ended revision can come after its snapshot.
"""

from collections.abc import Sequence

from rocketconnect_kit.errors import NotFound
from services.position.domain import Ledger, Snapshot

KEPT = 20
"""So many snapshots of each connector are kept, the last ones."""

_OWN = "~"


def ended(ledger: Ledger, revision: int, now: int, *, keep_resume: bool) -> Snapshot | None:
    """Return the snapshot to take when a plan of `revision` (0: not known) is opened; None when no known revision ends.

    `keep_resume`: with what is stored beside the offsets.
    """
    known = ledger.connector.revision
    if not known or revision == known:
        return None
    offsets = {position.partition: position.offset for position in ledger.positions.values() if moves(position.partition)}
    resumes = {partition: ledger.positions[partition].resume for partition in offsets if ledger.positions[partition].resume}
    # Lower than the one that ends: the store of the configurations has gone back. What it forgot is never asked for.
    return Snapshot(known, max(revision, known + 1), offsets, now, resumes if keep_resume else {})


def covering(snapshots: Sequence[Snapshot], revision: int) -> Snapshot:
    """Return the snapshot of the end of a revision.

    Raises:
        NotFound: SNAPSHOT_NOT_FOUND.
    """
    for snapshot in snapshots:
        if snapshot.revision <= revision < snapshot.next_revision:
            return snapshot
    known = ", ".join(str(snapshot.revision) for snapshot in snapshots) or "none"
    message = (
        f"where the connector was when revision {revision} ended is not known; known are the ends of the revisions: {known} "
        f"(the last {KEPT} are kept)"
    )
    raise NotFound("SNAPSHOT_NOT_FOUND", message, revision=str(revision))


def moves(partition: str) -> bool:
    """Return whether a partition says where a connector is: what the runtime keeps for itself does not."""
    return not partition.startswith(_OWN)
