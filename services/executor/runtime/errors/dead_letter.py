"""The dead letter of a failure."""

from collections.abc import Mapping

from rocketconnect_sdk.letters.dead_letters import PREFIX, STAGES, own_properties
from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.wording.counts import counted
from services.executor.runtime.errors.failure import SEPARATORS, Failure
from services.executor.secrets.resolving import hide

_PROPERTIES_LIMIT = 32_767


_FREE_FOR_OTHERS = 4_096  # RCPOS, and what a broker adds


_FREE_FOR_REASON = 8_192  # however much of its own a message carries


def dead_letter(
    failure: Failure,
    origin: Mapping[str, str],
    *,
    with_properties: bool,
    body_limit: int,
    original: Mapping[str, str] = NO_HEADERS,
) -> tuple[bytes, dict[str, str]]:
    """Body and properties of the message that keeps a bad record.

    Args:
        failure: Why.
        origin: Where it comes from: connector, task, source partition and offset, or topic, queue and offset.
        with_properties: Say why in properties.
        body_limit: At most so many bytes of the original; a longer one is kept in its first part, with length and hash.
        original: The properties of the bad message, or of the message that the record would have become: its key, its tags and what
            people gave it stay with it. When they leave too little room for the reason, the largest are left out, and named.
    """
    body = failure.original[:body_limit]
    cut = len(body) < failure.length
    kept, left_out = _fitting(own_properties(original))
    if not with_properties and not cut:
        return body, kept
    said = {
        **origin,
        "stage": STAGES[failure.stage],
        "class.name": failure.by,
        "exception.class.name": failure.error,
        "length": str(failure.length),
        "sha256": failure.sha256,
    }
    if cut:
        said["cut"] = f"the first {len(body)} of {counted(failure.length, 'byte')}"
    if left_out:
        said["properties.left.out"] = ", ".join(left_out)[:1_000]
    # Invariant 6: no secret in a message. The longest last: they get the room that the others leave.
    said["exception.message"] = hide(failure.message)
    said["exception.stacktrace"] = hide(failure.trace)
    properties: dict[str, str] = {}
    left = _PROPERTIES_LIMIT - _FREE_FOR_OTHERS - sum(_size(name, value) for name, value in kept.items())
    for name, value in said.items():
        clean = SEPARATORS.sub(" ", value)
        name_length = len(PREFIX) + len(name) + 2
        encoded = clean.encode(errors="replace")[: max(0, left - name_length)]
        if encoded:
            properties[PREFIX + name] = encoded.decode(errors="ignore")
            left -= name_length + len(encoded)
    return body, {**kept, **properties}


def _fitting(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Those that leave room for the reason, and the names of the others."""
    left = _PROPERTIES_LIMIT - _FREE_FOR_OTHERS - _FREE_FOR_REASON
    kept = set()
    for name, value in sorted(properties.items(), key=lambda each: _size(*each)):
        left -= _size(name, value)
        if left < 0:
            break
        kept.add(name)
    fitting = {name: value for name, value in properties.items() if name in kept}
    return fitting, [name for name in properties if name not in kept]


def _size(name: str, value: str) -> int:
    """As it stands in a message, in bytes."""
    return len(name.encode(errors="replace")) + len(value.encode(errors="replace")) + 2
