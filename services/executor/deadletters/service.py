"""The RPCs of the dead-letter service: check the request, look into the topic in a thread, convert the answer."""

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as pb
from rocketconnect.deadletter.v1.deadletter_service_pb2_grpc import DeadletterServiceServicer

import rocketmq_remoting.errors as rocketmq
from rocketconnect_kit.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    FieldProblem,
    Unavailable,
)
from rocketconnect_kit.pages import decode_token, encode_token, page_size
from rocketconnect_kit.serving.caller import caller
from rocketconnect_kit.serving.interception import ServicerContext
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.letters.dead_letters import KEY_PROPERTIES, REPLAY_TOPIC, DeadLetter, Spans, replay_topic
from rocketconnect_sdk.letters.replay_notes import Done
from rocketconnect_sdk.letters.replays import DEAD_LETTER_TOPIC
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.client import Client
from rocketmq_remoting.protocol.properties import encode_properties
from services.executor.deadletters import wire
from services.executor.deadletters.box import Box, TooMany
from services.executor.deadletters.check import LetterCheck
from services.executor.deadletters.choice import Choice, Found
from services.executor.deadletters.counts import Counts
from services.executor.deadletters.discard import ids_of, notes_of
from services.executor.deadletters.journal import Journal
from services.executor.deadletters.named import check_named, invalid, named, one
from services.executor.deadletters.packed import PackedLetters
from services.executor.deadletters.replay import Replay, failed_of, target
from services.executor.runtime.rocketmq.queue_names import parse
from services.executor.runtime.rocketmq.shared_client import SharedClient
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics

if TYPE_CHECKING:
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub

T = TypeVar("T")

_SECONDS = 20.0
"""How long one request may look, when its caller gave no deadline."""
_MARGIN_SECONDS = 1.0
_CONFIG_SECONDS = 5.0
_CREATE_SECONDS = 40.0
_SEND_SECONDS = 5.0
_MOST_SPANS_BYTES = 60_000
_THREADS = 2
_IDS_TOLD = 100
_OUTCOMES_TOLD = 100


class DeadletterService(DeadletterServiceServicer):
    """See deadletter_service.proto for what each RPC promises.

    Args:
        configs: The config service.
        journal: The log of connectors.
        check: Tells what becomes of letters.
        packed: Knows the rows of packed ones.
        connect: Opens a client of RocketMQ; called once, in a thread.
        allowed: Patterns of the topics that letters may be sent to where a caller says so; see dead_letter_topics.
    """

    def __init__(
        self,
        configs: "ConfigServiceAsyncStub",
        journal: Journal,
        check: LetterCheck,
        packed: PackedLetters,
        connect: Callable[[], Client],
        allowed: str,
    ) -> None:
        self._configs = configs
        self._journal = journal
        self._check = check
        self._packed = packed
        self._allowed = allowed
        self._client = SharedClient(connect)
        self._counts = Counts()
        # Invariant 7: further requests wait for their turn.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="dead letters")

    def close(self) -> None:
        """End what is under way; no request may follow."""
        self._client.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def ListDeadLetters(self, request: pb.ListDeadLettersRequest, context: ServicerContext) -> pb.ListDeadLettersResponse:
        """See the proto."""
        topic = _topic(await self._connector(request.connector))
        size = page_size(request.page_size)
        scope = f"dead letters of {topic}"
        token = decode_token(scope, request.page_token)
        after = None if token is None else _place(token)

        def look(box: Box) -> tuple[list[Found], tuple[str, int] | None]:
            return box.page(box.ends(), wire.wanted(request), wire.since_ms(request), size, after)

        found, place = await self._look(context, topic, look)
        next_token = "" if place is None else encode_token(scope, f"{place[0]}:{place[1]}")
        return pb.ListDeadLettersResponse(dead_letters=map(wire.dead_letter, found), next_page_token=next_token)

    async def CountDeadLetters(self, request: pb.CountDeadLettersRequest, context: ServicerContext) -> pb.CountDeadLettersResponse:
        """See the proto."""
        topic = _topic(await self._connector(request.connector))
        waiting, is_all = await self._look(context, topic, lambda box: self._counts.of(topic, box, request.connector))
        answer = pb.CountDeadLettersResponse(unreplayed=waiting.count, complete=is_all, topic=topic)
        if waiting.count:
            answer.oldest_time.FromMilliseconds(waiting.oldest_ms)
        return answer

    async def GetDeadLetter(self, request: pb.GetDeadLetterRequest, context: ServicerContext) -> pb.GetDeadLetterResponse:
        """See the proto."""
        topic = _topic(await self._connector(request.connector))
        found = await self._look(context, topic, lambda box: one(box, request.id))
        return wire.whole(found, await self._packed.read(found.body, context.time_remaining()))

    async def EditDeadLetter(self, request: pb.EditDeadLetterRequest, context: ServicerContext) -> pb.EditDeadLetterResponse:
        """See the proto."""
        given = [name for name in ("body", "rows", "record") if getattr(request, name)]
        if len(given) > 1:
            raise invalid([FieldProblem(given[-1], "", f"is given beside {given[0]}", "give one of them")])
        connector = await self._connector(request.connector)
        found = await self._look(context, _topic(connector), lambda box: one(box, request.id))
        letter, body, message = found.letter, request.body or request.record, found.newest
        properties, goes_to = message.properties, message.notes.get("topic", "")
        made = None
        if request.record and not request.unchecked:
            made = await self._check.read_again(connector, letter, request.record, context.time_remaining())
        if made is not None:
            body, properties, goes_to = made.body, {**_without_key(properties, made.properties), **made.properties}, made.topic
        if request.rows:
            body = await self._packed.changed(found.body, request.rows, context.time_remaining())
        if not request.unchecked and made is None:
            await self._check.edit(connector, letter, body, context.time_remaining())

        def edit(box: Box) -> Found:
            queue = parse(letter.message.queue)
            batch = encode_batch([body], [encode_properties(letter.edited(body, properties, goes_to))])
            client = self._client.get()
            client.send_batch(queue, batch, _SEND_SECONDS)
            client.barrier(queue.broker, _SEND_SECONDS)
            return one(box, request.id)

        edited = wire.dead_letter(await self._look(context, _topic(connector), edit))
        await self._journal.tell(
            connector.uid, [f"dead letter {edited.id} edited by {caller(context).named(request.author)}: {edited.edition}"]
        )
        return pb.EditDeadLetterResponse(dead_letter=edited)

    async def ReplayDeadLetters(
        self, request: pb.ReplayDeadLettersRequest, context: ServicerContext
    ) -> pb.ReplayDeadLettersResponse:
        """See the proto."""
        chosen = await self._choose(request, context)
        answer = chosen.answer
        if not request.dry_run and answer.count:
            order = pb.ReplayDeadLettersRequest()
            order.CopyFrom(request)
            order.request_id = request.request_id or uuid.uuid4().hex
            order.author = caller(context).named(request.author)
            create = config.CreateReplayRequest(order=order, letters=chosen.letters, ends=chosen.ends, count=answer.count)
            with remote_errors():
                answer.replay = (await self._configs.CreateReplay(create, timeout=_CREATE_SECONDS)).replay
        return answer

    async def ChooseReplay(self, request: pb.ChooseReplayRequest, context: ServicerContext) -> pb.ChooseReplayResponse:
        """See the proto."""
        return await self._choose(request.order, context)

    async def DiscardDeadLetters(
        self, request: pb.DiscardDeadLettersRequest, context: ServicerContext
    ) -> pb.DiscardDeadLettersResponse:
        """See the proto."""
        check_named(request)
        failed = await self._connector(request.connector)
        topic = _topic(failed)

        def discard(box: Box) -> tuple[int, Spans]:
            count, letters = box.open(named(box, request, box.ends()), wire.wanted(request))
            if letters and not request.dry_run:
                queue = parse(next(iter(letters)))
                client = self._client.get()
                for note in notes_of(request.connector, letters):
                    batch = encode_batch([note.body()], [encode_properties(note.properties())])
                    client.send_batch(queue, batch, _SEND_SECONDS)
                client.barrier(queue.broker, _SEND_SECONDS)
            return count, letters

        count, letters = await self._look(context, topic, discard)
        if count and not request.dry_run:
            by, which = caller(context).named(request.author), ids_of(letters)
            await self._journal.tell(failed.uid, [f"{counted(count, 'dead letter')} discarded by {by}: {which}"])
        return pb.DiscardDeadLettersResponse(count=count, topic=topic)

    async def GetReplay(self, request: pb.GetReplayRequest, context: ServicerContext) -> pb.GetReplayResponse:
        """See the proto."""
        failed = await self._connector(request.connector)

        def look(box: Box) -> tuple[Done, Sequence[DeadLetter], Mapping[str, int]]:
            done = box.done(request.connector, request.replay)
            # Before it is looked what came back: what is taken by then has come back.
            ends = box.ends_of(done.topic) if done.is_all and done.topic == replay_topic(failed.uid) else {}
            return done, list(box.came_back(done, request.replay)) if done.topic else (), ends

        done, returned, ends = await self._look(context, _topic(failed), look)
        return pb.GetReplayResponse(
            sent=done.sent,
            left_out=done.left_out,
            left_out_ids=list(islice(done.ids_left_out(), _IDS_TOLD)),
            done=done.is_all,
            returned=len({each.replay_of for each in returned}),
            returned_letters=map(wire.returned, returned[:_IDS_TOLD]),
            ends=ends,
        )

    def _find(self, topic: str, *, make: bool) -> None:
        """See to it that there is where letters go, before anything is begun.

        Raises:
            FailedPrecondition: REPLAY_TARGET_MISSING.
        """
        client = self._client.get()
        # A sink makes its replay topic when it starts, and the replay does when it has not.
        if make or topic.startswith(REPLAY_TOPIC) or client.topic_exists(topic) or client.topic_on_broker(topic):
            return
        message = f"topic {topic!r} does not exist: create it, or let it be created with --create-topic (createTopic)"
        raise FailedPrecondition("REPLAY_TARGET_MISSING", message, topic=topic)

    async def _choose(self, order: pb.ReplayDeadLettersRequest, context: ServicerContext) -> pb.ChooseReplayResponse:
        check_named(order)
        failed = await self._connector(order.connector)
        topic = target(failed_of(failed), order.to, self._allowed)

        def choose(box: Box) -> tuple[Replay, Choice, Sequence[Found]]:
            replay, choice = _chosen(box, failed, topic, order)
            self._find(topic, make=order.create_topic)
            first, _ = box.page(choice.spans, replay.wanted, 0, _OUTCOMES_TOLD, None) if order.dry_run else ((), None)
            return replay, choice, first

        replay, choice, first = await self._look(context, _topic(failed), choose)
        answer = pb.ReplayDeadLettersResponse(topic=topic, count=choice.letters, cut=choice.cut, replayed=choice.replayed)
        answer.unmade, answer.copies, answer.discarded = choice.unmade, choice.copies, choice.discarded
        answer.outcomes.extend(await self._check.outcomes(failed, replay, first, context.time_remaining()))
        return pb.ChooseReplayResponse(answer=answer, letters=replay.ranges, ends=replay.end_ranges)

    async def _connector(self, name: str) -> connectors.Connector:
        with remote_errors():
            answer = await self._configs.GetConnector(config.GetConnectorRequest(name=name), timeout=_CONFIG_SECONDS)
        return answer.connector

    async def _look(self, context: ServicerContext, topic: str, look: Callable[[Box], T]) -> T:
        """Return what is found in a topic.

        Raises:
            Unavailable: ROCKETMQ_AWAY.
            FailedPrecondition: TOPIC_NOT_READABLE.
            DeadlineExceeded: TOO_MANY_DEAD_LETTERS.
        """
        left = context.time_remaining()
        until = time.monotonic() + (_SECONDS if left is None else max(0.1, left - _MARGIN_SECONDS))

        def work() -> T:
            with closing(RocketMQTopics(self._client.get())) as reader:
                return look(Box(reader, topic, until))

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except TooMany:
            fix = "name a range of ids, or a time with since"
            message = f"there was no time to look at all dead letters in {topic}; {fix}"
            raise DeadlineExceeded("TOO_MANY_DEAD_LETTERS", message, topic=topic) from None
        except rocketmq.MessageTooLarge as error:
            raise invalid([FieldProblem("body", "", str(error), "shorten it")]) from error
        except (SystemAway, rocketmq.RetriableError) as error:
            raise Unavailable("ROCKETMQ_AWAY", f"RocketMQ does not answer: {error}; try again in a moment", topic=topic) from error
        except (PermanentError, rocketmq.RocketMQError) as error:
            raise FailedPrecondition("TOPIC_NOT_READABLE", str(error), topic=topic) from error


def _chosen(box: Box, failed: connectors.Connector, topic: str, order: pb.ReplayDeadLettersRequest) -> tuple[Replay, Choice]:
    ends = box.ends()
    letters = named(box, order, ends)
    own = failed_of(failed).sends_by_letter(order.to)
    wanted = wire.wanted(order)
    choice = box.choose(letters, wanted, topic, again=order.again, named=not order.all, is_own=own)
    if order.ids and choice.unmade:
        raise _unmade(failed.name, topic, choice)
    replay = Replay(choice.spans, ends, wanted, topic, own_topics=own)
    if len(",".join(replay.ranges)) > _MOST_SPANS_BYTES:
        raise invalid([FieldProblem("ids", "", "are too many", "name ranges (broker:queue:first-last), or several replays")])
    return replay, choice


def _topic(connector: connectors.Connector) -> str:
    topic = connector.config.get(DEAD_LETTER_TOPIC, "")
    if not topic:
        message = f"connector {connector.name!r} keeps no dead letters; set {DEAD_LETTER_TOPIC}, and errors.tolerance=all"
        raise FailedPrecondition("NO_DEAD_LETTER_TOPIC", message, connector=connector.name)
    return topic


def _place(token: str) -> tuple[str, int]:
    queue, _, offset = token.rpartition(":")
    return queue, int(offset)


def _unmade(connector: str, topic: str, choice: Choice) -> FailedPrecondition:
    more = f", and {choice.unmade - 1} more of those that were named," if choice.unmade > 1 else ""
    message = (
        f"dead letter {choice.first_unmade}{more} can't be sent to {topic}: source {connector!r} could make no message of it, so "
        "its body has passed no converter, and a sink would fail at it; correct it with "
        f"`rocketconnect dlq edit {connector} {choice.first_unmade}`, or send it as it is to another topic with --to TOPIC"
    )
    return FailedPrecondition("DEAD_LETTER_UNMADE", message, connector=connector, id=choice.first_unmade)


def _without_key(properties: Mapping[str, str], made: Mapping[str, str]) -> Mapping[str, str]:
    """What a letter keeps where the corrected record has a key of its own, which another property may hold."""
    is_keyed = any(name in made for name in KEY_PROPERTIES)
    return {name: value for name, value in properties.items() if not is_keyed or name not in KEY_PROPERTIES}
