"""Dead letters to messages of the proto. Pure."""

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as pb

from rocketconnect_sdk.letters.dead_letters import DeadLetter, Filter, letter_id
from rocketconnect_sdk.stages import Stage
from services.executor.deadletters.choice import Found
from services.executor.secrets.resolving import hide

_SHOWN = 2_000


def dead_letter(found: Found) -> pb.DeadLetter:
    """Return what is said of it in a list."""
    letter, properties = found.letter, found.newest.properties
    noted = None if found.replayed is None else _time(found.replayed.time_ms)
    is_discarded = found.replayed is not None and found.replayed.is_discard
    return pb.DeadLetter(
        id=letter.id,
        topic=letter.message.queue.rsplit("/", 2)[0],
        store_time=_time(letter.message.stored_ms),
        connector=letter.connector,
        task=-1 if letter.task is None else letter.task,
        stage=_stage(letter.stage),
        error=letter.error,
        # Invariant 6.
        message=hide(letter.text[:_SHOWN]),
        origin=letter.origin,
        replays=letter.replays,
        edition="" if found.edition is None else letter_id(letter.message.queue, found.edition.offset),
        key=properties.get("KEYS", properties.get("connect-key-base64", "")),
        tags=properties.get("TAGS", ""),
        size=len(found.body),
        cut=found.is_cut,
        replayed_time=None if is_discarded else noted,
        replayed_to="" if found.replayed is None else found.replayed.topic,
        came_back_from="" if letter.replay_of is None else letter.replay_of[1],
        copy_of=found.copy_of,
        discarded_time=noted if is_discarded else None,
    )


def whole(found: Found, packed: pb.PackedRows | None) -> pb.GetDeadLetterResponse:
    """Return everything that is said of it; packed: its rows, where it is a packed message."""
    notes = dict(found.letter.notes)
    trace = notes.pop("exception.stacktrace", "")
    return pb.GetDeadLetterResponse(
        dead_letter=dead_letter(found),
        body=found.body,
        original_body=b"" if found.edition is None else found.letter.message.body,
        properties={name: hide(value) for name, value in found.newest.properties.items()},
        trace=hide(trace),
        notes={name: hide(value) for name, value in notes.items()},
        packed=packed,
    )


def returned(letter: DeadLetter) -> pb.ReturnedLetter:
    """Return what is said of a letter that came back."""
    came_back_from = "" if letter.replay_of is None else letter.replay_of[1]
    # Invariant 6.
    return pb.ReturnedLetter(id=letter.id, came_back_from=came_back_from, error=letter.error, message=hide(letter.text[:_SHOWN]))


def wanted(request: pb.ListDeadLettersRequest | pb.ReplayDeadLettersRequest | pb.DiscardDeadLettersRequest) -> Filter:
    """Return which dead letters a request is about."""
    task = request.task if request.HasField("task") else None
    stage = pb.Stage.Name(request.stage).removeprefix("STAGE_").lower() if request.stage else ""
    return Filter(request.connector, task, stage, request.error)


def since_ms(request: pb.ListDeadLettersRequest | pb.ReplayDeadLettersRequest | pb.DiscardDeadLettersRequest) -> int:
    """Return from which time on, in milliseconds."""
    return request.since.ToMilliseconds() if request.HasField("since") else 0


def _time(milliseconds: int) -> Timestamp:
    time = Timestamp()
    time.FromMilliseconds(milliseconds)
    return time


def _stage(stage: Stage | None) -> pb.Stage.ValueType:
    return pb.Stage.Value(f"STAGE_{stage.name}") if stage else pb.STAGE_UNSPECIFIED
