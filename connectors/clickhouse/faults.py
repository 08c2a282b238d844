"""What an error of a server means. Pure."""

import re

from rocketconnect_sdk.tables.faults import Fault, ServerRejected, in_short

_CODE = re.compile(r"Code: (\d+)")
_GATEWAY = (502, 503, 504)
_TOO_LONG = (400, 414)
_PARTITIONS = "partitions for single INSERT block"
"""With the number of the error of a server that has too many parts, and yet nothing that time mends."""


_CODES = {
    **dict.fromkeys((209, 210), Fault.AWAY),
    # Timeouts, too many queries or parts, no memory or room, a replica without its keeper, an unknown end, a query that was killed.
    **dict.fromkeys((159, 201, 202, 225, 236, 241, 242, 243, 252, 319, 394, 425, 999), Fault.BUSY),
    **dict.fromkeys((164, 192, 193, 194, 195, 291, 497, 516), Fault.DENIED),
    **dict.fromkeys((60, 81), Fault.MISSING),
    **dict.fromkeys((15, 57), Fault.THERE),
    395: Fault.FENCED,
}


def refused(status: int, text: str) -> ServerRejected:
    """The error of an answer with this status and text."""
    found = _CODE.search(text)
    said = in_short(text) or f"the answer {status}"
    if not text and status in _TOO_LONG:
        said += ": a statement of so many columns may be longer than its http_max_uri_size; raise that"
    if found is None:
        return ServerRejected(Fault.AWAY if status in _GATEWAY else Fault.DENIED if status in (401, 403) else Fault.OTHER, said)
    if found[1] == "252" and _PARTITIONS in text:
        fix = "Partition the table by less, make batches smaller (flush.rows), or raise max_partitions_per_insert_block of the user"
        return ServerRejected(Fault.OTHER, f"{said}. {fix}")
    # An old server takes a column that is there already for an illegal one.
    fault = Fault.THERE if found[1] == "44" and "already exists" in text else _CODES.get(int(found[1]), Fault.OTHER)
    return ServerRejected(fault, said)
