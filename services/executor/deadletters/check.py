"""Whether dead letters can be read where they would go: asked in a fresh host process, with the plugin of their connector."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as pb

from rocketconnect_kit.errors import FieldProblem, InvalidArgument, Unavailable
from rocketconnect_sdk.letters.dead_letters import DeadLetter, replay_topic
from rocketconnect_sdk.stages import Stage
from services.executor.contract.answers import CheckedLetter, LettersChecked, MadeAgain
from services.executor.contract.questions import CheckLetters, LetterToCheck, Question, ReadAgain
from services.executor.deadletters.choice import Found
from services.executor.deadletters.replay import Replay
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate

T = TypeVar("T", LettersChecked, MadeAgain)

_FIX = (
    "give the body the form that {reader} reads, or store it as it is with --unchecked (unchecked), for another topic or for a "
    "connector that is changed before the replay"
)
_MOST_BYTES = 4 << 20
"""Of bodies in one question (invariant 7)."""
_OF_TIME = 0.8
"""The part of the time of a request in which a plugin may answer; the rest is for what is done then."""


class _NotChecked(Exception):
    """Nobody knows whether the connector could read them."""

    def __init__(self, connector: str, why: str) -> None:
        super().__init__(f"nobody knows whether {connector!r} could read it: {why}")


class LetterCheck:
    """Asks.

    Args:
        fresh: Where questions are answered.
        seconds: How long a plugin may take.
    """

    def __init__(self, fresh: FreshHosts, seconds: float) -> None:
        self._fresh = fresh
        self._seconds = seconds

    async def edit(self, connector: connectors.Connector, letter: DeadLetter, body: bytes, left: float | None) -> None:
        """Pass when a letter with this body becomes a record. Of a direct connector any does: nothing of it comes back.

        Args:
            connector: That failed at it.
            letter: As it is in its topic.
            body: What it is to be.
            left: Seconds that the caller waits; None: it does not say.

        Raises:
            InvalidArgument: DEAD_LETTERS_INVALID: it does not.
            Unavailable: DEAD_LETTERS_NOT_CHECKED.
        """
        if connector.type not in (connectors.CONNECTOR_TYPE_SINK, connectors.CONNECTOR_TYPE_SOURCE):
            return
        try:
            (checked,) = await self._ask(connector, [(body, letter.replayed())], left)
        except _NotChecked as error:
            raise _not_checked(connector, error) from error
        if checked.problem:
            is_sink = connector.type == connectors.CONNECTOR_TYPE_SINK
            reader = f"sink {connector.name!r}" if is_sink else f"the value converter of source {connector.name!r}"
            problem = FieldProblem(
                "body", "", f"can't become a record, {reader} would fail at it ({checked.problem})", _FIX.format(reader=reader)
            )
            raise InvalidArgument("DEAD_LETTERS_INVALID", str(problem), [problem])

    async def read_again(
        self, connector: connectors.Connector, letter: DeadLetter, record: bytes, left: float | None
    ) -> MadeAgain | None:
        """The message that a source makes of what it could not read, as it is corrected; None: it reads no bytes.

        Args:
            connector: That failed at it.
            letter: As it is in its topic.
            record: The record, corrected.
            left: Seconds that the caller waits; None: it does not say.

        Raises:
            InvalidArgument: DEAD_LETTERS_INVALID: the source fails at it, too.
            Unavailable: DEAD_LETTERS_NOT_CHECKED.
        """
        partition = letter.notes.get("source.partition", "")
        if connector.type != connectors.CONNECTOR_TYPE_SOURCE or not partition or letter.stage is not Stage.POLL:
            return None
        try:
            answer = await self._answer(connector, ReadAgain(dict(connector.config), partition, record), MadeAgain, left)
        except _NotChecked as error:
            raise _not_checked(connector, error) from error
        if answer.problem:
            fix = "correct it into what the source reads, or give the message of its topic with --body (body)"
            reason = f"source {connector.name!r} would fail at it as well ({answer.problem})"
            problem = FieldProblem("record", "", reason, fix)
            raise InvalidArgument("DEAD_LETTERS_INVALID", str(problem), [problem])
        return answer if answer.is_read else None

    async def outcomes(
        self, connector: connectors.Connector, replay: Replay, letters: Sequence[Found], left: float | None
    ) -> Sequence[pb.ReplayOutcome]:
        """What would become of letters.

        Args:
            connector: That failed at them.
            replay: What would send them.
            letters: They; of more bodies than one question holds the rest is not told of.
            left: Seconds that the caller waits; None: it does not say.
        """
        told = {each.letter.id: _left_out(each, replay) for each in _within(letters)}
        sent = [each for each in letters if each.letter.id in told and told[each.letter.id] is None]
        if not replay.own_topics and replay.topic != replay_topic(connector.uid):
            told |= {each.letter.id: _told(each, pb.OUTCOME_AS_IT_IS) for each in sent}
        elif sent:
            try:
                checked = await self._ask(connector, [(each.body, each.newest.replayed()) for each in sent], left)
                told |= {each.letter.id: _of(each, found) for each, found in zip(sent, checked, strict=True)}
            except _NotChecked as error:
                told |= {each.letter.id: _told(each, pb.OUTCOME_UNSPECIFIED, str(error)) for each in sent}
        return [each for each in told.values() if each is not None]

    async def _ask(
        self, connector: connectors.Connector, letters: Sequence[tuple[bytes, Mapping[str, str]]], left: float | None
    ) -> Sequence[CheckedLetter]:
        given = [LetterToCheck(body, dict(properties)) for body, properties in letters]
        question = CheckLetters(dict(connector.config), replay_topic(connector.uid), given)
        return (await self._answer(connector, question, LettersChecked, left)).letters

    async def _answer(self, connector: connectors.Connector, question: Question, kind: type[T], left: float | None) -> T:
        seconds = self._seconds if left is None else min(self._seconds, left * _OF_TIME)
        try:
            answer = await self._fresh.ask(question, seconds, f"{connector.name} (dead letters)")
        except (PluginLate, PluginCrashed) as error:
            raise _NotChecked(connector.name, str(error)) from error
        if not isinstance(answer, kind):
            raise _NotChecked(connector.name, "the host process answered another question")
        if answer.trouble:
            raise _NotChecked(connector.name, answer.trouble)
        return answer


def _not_checked(connector: connectors.Connector, error: _NotChecked) -> Unavailable:
    message = f"{error}; nothing is stored: try again, or store it as it is with --unchecked (unchecked)"
    return Unavailable("DEAD_LETTERS_NOT_CHECKED", message, connector=connector.name)


def _left_out(found: Found, replay: Replay) -> pb.ReplayOutcome | None:
    """Why a replay does not send it; None: it does."""
    if found.is_unmade(replay.topic, is_own=replay.own_topics):
        why = "its source could make no message of it; correct it with `rocketconnect dlq edit`"
        return _told(found, pb.OUTCOME_LEFT_OUT, why)
    if found.is_cut:
        return _told(found, pb.OUTCOME_LEFT_OUT, "only its first part is there; edit it")
    return None


def _of(found: Found, checked: CheckedLetter) -> pb.ReplayOutcome:
    if checked.problem:
        return _told(found, pb.OUTCOME_FAILS, checked.problem)
    return _told(found, pb.OUTCOME_DROPPED if checked.is_dropped else pb.OUTCOME_RECORD)


def _told(found: Found, outcome: pb.Outcome.ValueType, reason: str = "") -> pb.ReplayOutcome:
    return pb.ReplayOutcome(id=found.letter.id, outcome=outcome, reason=reason)


def _within(letters: Sequence[Found]) -> Iterator[Found]:
    """The first of them, one at least, that go into one question."""
    size = 0
    for number, found in enumerate(letters):
        size += len(found.body)
        if number and size > _MOST_BYTES:
            return
        yield found
