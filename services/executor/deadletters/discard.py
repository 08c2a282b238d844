"""What is noted, and told, of dead letters that somebody gives up. Pure."""

from collections.abc import Iterator, Sequence
from itertools import islice

from rocketconnect_sdk.letters.dead_letters import Spans, letter_id
from rocketconnect_sdk.letters.replay_notes import ReplayNote

_SPANS = 5_000
"""Of one note: a message holds many more (invariant 7)."""
_TOLD = 20


def notes_of(connector: str, letters: Spans) -> Sequence[ReplayNote]:
    """The messages that tell it: as many as it takes."""
    every = [(queue, span) for queue, spans in letters.items() for span in spans]
    return [_note(connector, every[begin : begin + _SPANS]) for begin in range(0, len(every), _SPANS)]


def ids_of(letters: Spans) -> str:
    """Which letters they are, for people: the first of them."""
    found = list(islice(_ids(letters), _TOLD + 1))
    return ", ".join(found[:_TOLD]) + (", ..." if len(found) > _TOLD else "")


def _note(connector: str, some: Sequence[tuple[str, tuple[int, int]]]) -> ReplayNote:
    given_up: dict[str, list[tuple[int, int]]] = {}
    for queue, span in some:
        given_up.setdefault(queue, []).append(span)
    return ReplayNote(connector, "", "", given_up, {}, is_last=True, is_discard=True)


def _ids(letters: Spans) -> Iterator[str]:
    for queue, spans in sorted(letters.items()):
        for first, until in spans:
            yield letter_id(queue, first) + (f"-{until - 1}" if until > first + 1 else "")
