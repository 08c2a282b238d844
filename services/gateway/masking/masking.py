"""Masks what answers show of records, and refuses what would show it in another way, or would store a mask."""

from collections.abc import Awaitable, Callable, Sequence

from google.protobuf.message import Message
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters
from rocketconnect.topic.v1 import topic_service_pb2 as topics

from rocketconnect_kit.errors import FailedPrecondition, InvalidArgument
from services.gateway.masking import answers, checks
from services.gateway.masking.rules import NOTHING, Fields, Rules

MASKED = "MASKED"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"

Connectors = Callable[[], Awaitable[Sequence[connectors.Connector]]]
Letter = Callable[[letters.GetDeadLetterRequest], Awaitable[Message]]


class Masking:
    """For any number of requests at once.

    Args:
        rules: The operator's.
        there: Asks for all connectors; raises ServiceError.
        letter: Asks for a dead letter, as it is masked; raises ServiceError.
    """

    def __init__(self, rules: Rules, there: Connectors, letter: Letter) -> None:
        self._rules = rules
        self._there = there
        self._letter = letter

    def concerns(self, request: Message) -> bool:
        """Whether anything may be masked in the answer to a request, or it may be refused."""
        return bool(self._rules) and answers.is_shown(request)

    async def check(self, request: Message) -> Fields:
        """Return what is masked of the records that the answer to a request shows.

        Raises:
            FailedPrecondition: MASKED: what is masked would be told, or a mask be stored.
            ServiceError: which connectors there are is not known.
        """
        fields = await self._fields(request)
        match request:
            case topics.PeekTopicRequest() | topics.TraceMessagesRequest() if request.key and fields:
                why = f"keys of the topic {request.topic!r} are masked, and who looks for one finds out whether it is there"
                raise _refused(why, "ask by place, time or id")
            case letters.EditDeadLetterRequest():
                whole = await self._letter(letters.GetDeadLetterRequest(connector=request.connector, id=request.id))
                if isinstance(whole, letters.GetDeadLetterResponse) and whole.masked:
                    hidden = ", ".join(whole.masked)
                    why = f"of the dead letter {request.id!r} is masked: {hidden}. What is not seen can't be corrected"
                    raise _refused(why, "replay it as it is")
            case letters.ReplayDeadLettersRequest() if request.to and not fields.paths <= self._rules.of_topic(request.to).paths:
                why = f"fields of these dead letters are masked, and would not be in the topic {request.to!r}"
                raise _refused(why, "replay them without another topic")
            case config.VerifyConnectorRequest() if fields:
                why = "a comparison tells the keys of rows, and fields of these records are masked"
                raise _refused(why, "compare at a gateway that masks nothing of them")
        return fields

    def hide(self, request: Message, answer: Message, fields: Fields) -> None:
        """Mask the answer to a request, of which `check` has said what is masked."""
        if fields:
            checks.told(answer)
        match request, answer:
            case topics.PeekTopicRequest(), topics.PeekTopicResponse():
                answers.peeked(answer, fields, self._rules, by_fields=answers.reads_fields(request.config))
            case config.PreviewConnectorRequest(), config.PreviewConnectorResponse():
                by_fields = answers.reads_fields(request.config) and answers.reads_fields(request.source)
                answers.previewed(answer, fields, self._rules, by_fields=by_fields)
            case letters.ListDeadLettersRequest(), letters.ListDeadLettersResponse():
                answers.listed(answer, fields, self._rules)
            case letters.GetDeadLetterRequest(), letters.GetDeadLetterResponse():
                answers.letter(answer, fields, self._rules)
            case letters.ReplayDeadLettersRequest(), letters.ReplayDeadLettersResponse() if fields:
                answers.replayed(answer)
            case letters.GetReplayRequest(), letters.GetReplayResponse() if fields:
                answers.returned(answer)
            case topics.TraceMessagesRequest(), topics.TraceMessagesResponse():
                answers.traced(answer)

    def refusal(self, error: InvalidArgument, fields: Fields) -> InvalidArgument:
        """Return what is told of a request that was refused; the same error, where nothing of it is masked."""
        return checks.refused(error) if fields else error

    async def _fields(self, request: Message) -> Fields:
        match request:
            case topics.TraceMessagesRequest():
                found = self._rules.of_topic(request.topic)
            case topics.PeekTopicRequest():
                found = self._rules.of_topic(request.topic) | await self._of_letters(request.topic)
            case config.CreateConnectorRequest() | config.UpdateConnectorRequest() | config.ValidateConnectorRequest():
                found = self._rules.of_config(request.config)
            case config.PreviewConnectorRequest():
                found = self._rules.of_config(request.config)
                found |= self._rules.of_config(request.source) if request.source else NOTHING
            case config.VerifyConnectorRequest():
                named = [name for name in (request.name, request.sink) if name]
                found = await self._of_connectors(named)
            case (
                letters.ListDeadLettersRequest()
                | letters.GetDeadLetterRequest()
                | letters.EditDeadLetterRequest()
                | letters.ReplayDeadLettersRequest()
                | letters.GetReplayRequest()
            ):
                found = await self._of_connectors([request.connector])
            case _:
                found = NOTHING
        return found

    async def _of_connectors(self, names: Sequence[str]) -> Fields:
        by_name = {each.name: each for each in await self._there()}
        found = NOTHING
        for name in names:
            found |= self._rules.of_connector(by_name.get(name))
        return found

    async def _of_letters(self, topic: str) -> Fields:
        """What is masked of the dead letters in a topic: they are messages of other topics."""
        found = NOTHING
        for each in await self._there():
            if topic in (name.strip() for name in each.config.get(_DEAD_LETTERS, "").split(",")):
                found |= self._rules.of_connector(each)
        return found


def _refused(why: str, fix: str) -> FailedPrecondition:
    return FailedPrecondition(MASKED, f"{why}; {fix}. The gateway's setting `mask` says what is masked")
