"""Which dead letters a request names, in a topic."""

from collections.abc import Sequence

from rocketconnect.deadletter.v1 import deadletter_service_pb2 as pb

from rocketconnect_kit.errors import FieldProblem, InvalidArgument, NotFound
from rocketconnect_sdk.letters.dead_letters import Spans, parse_ids
from services.executor.deadletters import wire
from services.executor.deadletters.box import Box
from services.executor.deadletters.choice import Found

_TAKE_IDS = "take ids as `rocketconnect dlq list` shows them"


def check_named(request: pb.ReplayDeadLettersRequest | pb.DiscardDeadLettersRequest) -> None:
    """Refuse what names letters and wants all at once, or neither.

    Raises:
        InvalidArgument: DEAD_LETTERS_INVALID.
    """
    if request.all == bool(request.ids):
        fix = "name dead letters by their ids, or ask for all of them"
        raise invalid([FieldProblem("ids", "", "either ids or all is needed, and not both", fix)])


def named(box: Box, request: pb.ReplayDeadLettersRequest | pb.DiscardDeadLettersRequest, ends: Spans) -> Spans:
    """Return where those letters are, among others.

    Args:
        box: The topic.
        request: What is asked.
        ends: What the topic holds.

    Raises:
        InvalidArgument: DEAD_LETTERS_INVALID: ids are none of it.
    """
    letters, wrong = (ends, []) if request.all else parse_ids(request.ids, box.queues)
    wrong += [problem for given in request.ids for problem in _beyond(given, box.queues, ends)]
    if wrong:
        raise invalid([FieldProblem("ids", given, reason, _TAKE_IDS) for given, reason in wrong])
    if request.HasField("since"):
        letters = {queue: box.since(queue, spans, wire.since_ms(request)) for queue, spans in letters.items()}
    return {queue: spans for queue, spans in letters.items() if spans}


def one(box: Box, given: str) -> Found:
    """Return the letter of an id.

    Raises:
        InvalidArgument: DEAD_LETTERS_INVALID: it is no id of one.
        NotFound: DEAD_LETTER_NOT_FOUND.
    """
    spans, wrong = parse_ids([given], box.queues)
    for _, reason in wrong:
        raise invalid([FieldProblem("id", given[:200], reason, "take an id as `rocketconnect dlq list` shows it")])
    ((queue, ((offset, until),)),) = spans.items()
    if until != offset + 1:
        raise invalid([FieldProblem("id", given[:200], "is a range", "name one dead letter")])
    found = box.get(queue, offset)
    if found is None:
        message = f"there is no dead letter {given}: it is an edition or a note, retention has removed it, or it never was"
        raise NotFound("DEAD_LETTER_NOT_FOUND", message, id=given)
    return found


def invalid(problems: list[FieldProblem]) -> InvalidArgument:
    """Return the refusal of a request with all that is wrong with it."""
    return InvalidArgument("DEAD_LETTERS_INVALID", "; ".join(map(str, problems)), problems)


def _beyond(given: str, queues: Sequence[str], ends: Spans) -> list[tuple[str, str]]:
    """What is wrong with an id that may be well formed: its queue ends before it."""
    spans, _ = parse_ids([given], queues)
    found = []
    for queue, each in spans.items():
        end = ends.get(queue, [(0, 0)])[-1][1]
        if each[-1][1] > end:
            broker, number = queue.rsplit("/", 2)[1:]
            found.append((given[:200], f"the last of {broker}:{number} is {end - 1}" if end else f"{broker}:{number} is empty"))
    return found
