"""Whether a slot has everything behind a stored position.

PostgreSQL does not say: START_REPLICATION at a position that the slot has left behind gives what comes after the slot's own.
Slots have no identity and no time of birth, so what is compared are places in the log.

Certain, each by itself:
- Another system identifier: these are other data, whose log has other places.
- A slot whose confirmed_flush_lsn lies behind the position gives nothing of what is between. One that was dropped and made anew is
  always such a slot: making it writes to the log (a record of running transactions), and it begins behind that record; whatever
  the former slot gave lies before it. So is one that somebody else read from or advanced. For this, nothing may be confirmed that
  is not stored before.
- A position behind the end of the server's log: the server lost it (an older copy of the data, a failover to one that lagged).
- A position that lies behind the end of its timeline: what was read there never came to be on the timeline that followed.

Not to be known: whether somebody dropped and made the slot with no position stored yet, and whether a replica that was promoted has
other transactions at places before the position, which PostgreSQL rules out where the timeline's history is right.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from connectors.postgres_cdc_source.logical.lsn import format_lsn
from connectors.postgres_cdc_source.logical.slots import PLUGIN, Server, Slot


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored with each position.

    Attributes:
        system: The system identifier of the server it was read from.
        timeline: The timeline of that server.
        position: The end of the last transaction that is done.
    """

    system: str
    timeline: int
    position: int


def breaks(stored: Stored, server: Server, slot: Slot | None, name: str, database: str) -> list[str]:
    """Why going on from a stored position would lose changes; nothing: it loses none.

    Args:
        stored: The position.
        server: The server as it is.
        slot: The slot as it is; None: there is none.
        name: The name of the slot.
        database: The name of the database.
    """
    if stored.system != server.system:
        return [
            f"the server has other data (system identifier {server.system}, before {stored.system}), whose log has other places"
        ]
    at = format_lsn(stored.position)
    found = []
    if stored.position > server.wal_end:
        end = format_lsn(server.wal_end)
        found.append(f"the server's log ends at {end}, before the position {at}: it runs on an older copy of its data")
    ended = server.ended.get(stored.timeline)
    if stored.timeline != server.timeline and ended is not None and stored.position > ended:
        end = format_lsn(ended)
        found.append(f"timeline {stored.timeline} ended at {end}, before the position {at}: a failover lost what is between")
    return [*found, *_slot_breaks(stored.position, slot, name, database)]


def _slot_breaks(position: int, slot: Slot | None, name: str, database: str) -> Iterator[str]:
    at = format_lsn(position)
    if slot is None:
        yield f"the slot {name!r} is gone, and with it what changed since {at}"
    elif slot.plugin != PLUGIN or slot.database != database:
        what = f"of {slot.plugin!r} in the database {slot.database!r}" if slot.plugin else "a physical one"
        yield f"the slot {name!r} is {what}, and not of {PLUGIN!r} in {database!r}: somebody made it anew"
    elif slot.wal_status == "lost" or not slot.restart_lsn:
        yield f"the slot {name!r} is invalid (wal_status {slot.wal_status!r}): it lagged behind by more than max_slot_wal_keep_size"
    elif slot.confirmed_lsn > position:
        stands = format_lsn(slot.confirmed_lsn)
        why = "it was dropped and made anew, or somebody else read from it or advanced it"
        yield f"the slot {name!r} stands at {stands}, behind the position {at}: {why}. What changed between is lost to it"
