"""Whether dead letters can be read where they would go: asked in a fresh host process, with the plugin of their connector."""

from collections.abc import Mapping, Sequence

from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_kit.errors import FieldProblem, InvalidArgument, Unavailable
from rocketconnect_sdk.dead_letters import DeadLetter, replay_topic
from services.executor.fresh import FreshHosts, PluginCrashed, PluginLate
from services.executor.messages import CheckedLetter, CheckLetters, LettersChecked, LetterToCheck

_FIX = (
    "give the body the form that {reader} reads, or store it as it is with --unchecked (unchecked), for another topic or for a "
    "connector that is changed before the replay"
)
_OF_TIME = 0.8
"""The part of the time of a request in which a plugin may answer; the rest is for what is done then."""


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
        (checked,) = await self._ask(connector, [(body, letter.replayed())], left)
        if checked.problem:
            is_sink = connector.type == connectors.CONNECTOR_TYPE_SINK
            reader = f"sink {connector.name!r}" if is_sink else f"the value converter of source {connector.name!r}"
            problem = FieldProblem(
                "body", "", f"can't become a record, {reader} would fail at it ({checked.problem})", _FIX.format(reader=reader)
            )
            raise InvalidArgument("DEAD_LETTERS_INVALID", str(problem), [problem])

    async def _ask(
        self, connector: connectors.Connector, letters: Sequence[tuple[bytes, Mapping[str, str]]], left: float | None
    ) -> Sequence[CheckedLetter]:
        seconds = self._seconds if left is None else min(self._seconds, left * _OF_TIME)
        given = [LetterToCheck(body, dict(properties)) for body, properties in letters]
        question = CheckLetters(dict(connector.config), replay_topic(connector.uid), given)
        try:
            answer = await self._fresh.ask(question, seconds, f"{connector.name} (dead letters)")
        except (PluginLate, PluginCrashed) as error:
            raise _not_checked(connector.name, str(error)) from error
        if not isinstance(answer, LettersChecked):
            raise _not_checked(connector.name, "the host process answered another question")
        if answer.trouble:
            raise _not_checked(connector.name, answer.trouble)
        return answer.letters


def _not_checked(connector: str, why: str) -> Unavailable:
    message = (
        f"nobody knows whether {connector!r} could read it, and nothing is stored: {why}; try again, or store it as it is with "
        "--unchecked (unchecked)"
    )
    return Unavailable("DEAD_LETTERS_NOT_CHECKED", message, connector=connector)
