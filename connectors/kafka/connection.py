"""Writes operations to Kafka."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from confluent_kafka import KafkaException

from connectors.kafka.client import RIGHTS, Client, made_of, producer_of
from connectors.kafka.positions import HeldBackError, Positions
from connectors.kafka.sending import AbortedError, FencedError, Sending, asked, begun, committed, in_transactions, settings_of
from connectors.kafka.topics import WRITING_FIX, Topics
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.targets.owners import Owner
from rocketconnect_sdk.writes import Connection, Operation, TransactionalConnection
from rocketconnect_sdk.writes.notes import PLAN, generation_of, note_of, task_of

_PATIENCE_SECONDS = 1.0
_ALONE = (
    "%s: messages that went together were refused, so those of this batch are sent one by one, which is slow. If it happens again "
    "and again, set message.max.bytes to the smallest max.message.bytes of the topics"
)


class KafkaConnection(Connection):
    """Writes without positions.

    Args:
        config: That of the sink.
        context: Of its task.
    """

    def __init__(self, config: Config, context: TaskContext) -> None:
        self._config = config
        self._log = context.log
        self._topics = Topics(config)
        self._producer: Client | None = None
        self._alone = False

    def ping(self) -> None:
        """See Connection."""
        self._topics.ping()

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        refused = self._without_topics(operations)
        # All of them again, so that those of a key keep their order.
        while True:
            left = [index for index in range(len(operations)) if index not in refused]
            sending = self._sent([operations[index] for index in left])
            if (error := sending.trouble()) is not None:
                raise self._opened().trouble(error)
            told = sending.told()
            if len(told) > 1 and not self._alone:
                self._send_alone()
                continue
            if told:
                self._send_together()
            return {**refused, **{left[index]: why for index, why in (*sending.refused.items(), *told.items())}}

    def close(self) -> None:
        """See Connection."""
        self._drop()

    def _sent(self, operations: Sequence[Operation]) -> Sending:
        sending = Sending(self._opened(), self._topics, self._config)
        sending.send(operations)
        sending.settle(whole=False)
        return sending

    def _opened(self) -> Client:
        self._producer = self._producer or self._made({})
        return self._producer

    def _made(self, more: Mapping[str, object]) -> Client:
        with made_of(self._config):
            return Client(self._config, producer_of, {**settings_of(self._config, alone=self._alone), **more}, rights=WRITING_FIX)

    def _drop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            ended(producer)

    def _send_alone(self) -> None:
        """Has the messages of a batch be sent one by one, after some that went together were refused."""
        self._log.warning(_ALONE, self._topics.place)
        self._alone = True
        self._drop()

    def _send_together(self) -> None:
        """With another producer: behind messages that were refused the client does not always find its place again."""
        self._alone = False
        self._drop()

    def _without_topics(self, operations: Sequence[Operation]) -> dict[int, str]:
        """The operations whose topic nothing can be."""
        wrong = self._topics.find({operation.target for operation in operations})
        return {index: wrong[each.target] for index, each in enumerate(operations) if each.target in wrong}


class ExactConnection(KafkaConnection, TransactionalConnection):
    """Writes in transactions, with notes.

    Kafka compares no notes in a transaction: it lets nobody write under a transactional.id under which somebody has begun since.
    Each task has one, and its note is written under that alone. So who has begun, has read all notes then, and finds what is
    expected, owns its task as long as it is not fenced.

    Tasks of an older plan have other ids: who begins fences them, too, by beginning under theirs. What they may have done between
    that and our first note we read behind that, and then begin again; and whoever of them begins later reads our note.
    """

    def __init__(self, config: Config, context: TaskContext) -> None:
        super().__init__(config, context)
        self._owner = Owner(context.generation, context.task, context.epoch)
        self._note = note_of(context.task)
        self._id = f"{config['transactional.id.prefix']}-{context.connector_uid}"
        self._positions = Positions(config, context.connector_uid)

    def ping(self) -> None:
        """See Connection."""
        super().ping()
        self._positions.make(self._topics)

    def notes(self, names: Sequence[str]) -> Mapping[str, str]:
        """See TransactionalConnection."""
        self._read()
        texts = self._positions.texts
        return {name: texts[name] for name in names if name in texts}

    def transact(self, operations: Sequence[Operation], expected: Mapping[str, str | None], notes: Mapping[str, str]) -> bool:
        """See TransactionalConnection."""
        try:
            if PLAN in notes:
                return self._begins(expected, notes[self._note])
            if self._producer is None and not self._begins(expected, expected[self._note] or ""):
                return False
            if not self._are(expected):
                return False
            if refused := self._without_topics(operations):
                raise RecordRefused(refused, None)
            if self._commits(operations, notes[self._note]):
                if self._alone:
                    self._send_together()
                return True
            self._send_alone()
            return self.transact(operations, expected, notes)
        except FencedError:
            self._drop()
            return False

    def close(self) -> None:
        """See Connection."""
        super().close()
        with suppress(KafkaException, RuntimeError):
            self._positions.close()

    def _begins(self, expected: Mapping[str, str | None], text: str) -> bool:
        """Begins as the owner of the task, if the notes are as expected; writes its note."""
        self._drop()
        self._read()
        self._fence_older()
        self._producer = self._begun(self._owner.task)
        self._positions.read()
        if self._are(expected) and self._commits((), text) and not self._is_crossed():
            return True
        self._drop()
        return False

    def _read(self) -> None:
        """Reads the notes, also where what held it back is a transaction that this task or an older one has left."""
        try:
            self._positions.read(_PATIENCE_SECONDS)
        except HeldBackError:
            self._drop()
            self._fence_older()
            ended(self._begun(self._owner.task))
            self._positions.read()

    def _fence_older(self) -> None:
        """Ends the tasks of older plans, as far as it has read of them, and their transactions."""
        for name, text in self._positions.texts.items():
            if name not in (PLAN, self._note) and generation_of(text) < self._owner.generation:
                ended(self._begun(task_of(name)))

    def _begun(self, task: int) -> Client:
        made = self._made(in_transactions(self._config, f"{self._id}-{task}"))
        try:
            begun(made)
        except BaseException:
            ended(made)
            raise
        return made

    def _are(self, expected: Mapping[str, str | None]) -> bool:
        texts = self._positions.texts
        return all(texts.get(name) == text for name, text in expected.items())

    def _is_crossed(self) -> bool:
        """Whether a task of another plan has written meanwhile: of an older one before it was fenced, or of a newer one."""
        came = self._positions.read()
        texts = self._positions.texts
        return any(name in texts and name != self._note and generation_of(texts[name]) != self._owner.generation for name in came)

    def _commits(self, operations: Sequence[Operation], text: str) -> bool:
        """Writes a transaction. False: messages that go together are refused, and it is not known which."""
        producer = self._opened()
        asked(producer, lambda _: producer.own.begin_transaction())
        sending = Sending(producer, self._topics, self._config)
        sending.send(operations)
        if not sending.refused:
            try:
                sending.settle(whole=True)
                if not sending.failed:
                    # Behind the others: what is behind it in its topic waits for this transaction.
                    sending.note(self._positions.topic, text, self._positions.key(self._note))
                committed(producer)
            except AbortedError as error:
                aborted = error
            else:
                self._positions.keep({self._note: text})
                return True
            asked(producer, producer.own.abort_transaction)
            # Behind messages that were refused the client does not always find its place again: "skipped sequence numbers".
            self._drop()
            if not (told := sending.told()):
                self._raise(producer, aborted, sending)
            if len(told) > 1 and not self._alone:
                return False
            raise RecordRefused(told, None)
        asked(producer, producer.own.abort_transaction)
        raise RecordRefused(sending.refused, None)

    @staticmethod
    def _raise(producer: Client, aborted: AbortedError, sending: Sending) -> None:
        error = sending.trouble() or aborted.error
        trouble = producer.trouble(error)
        if isinstance(trouble, SystemAway) or error.code() in RIGHTS:
            raise trouble
        # A topic that was removed, a transaction that took too long.
        raise RetriableError(str(trouble))


def ended(client: Client) -> None:
    """Ends a producer with what it has not sent. Never raises."""
    with suppress(KafkaException, RuntimeError):
        client.own.purge()
        client.own.poll(0)


def forget(config: Config, connector_uid: str) -> None:
    """Removes all notes of a connector."""
    topics, positions = Topics(config), Positions(config, connector_uid)
    if not isinstance(topics.described([positions.topic])[positions.topic], int):
        return
    positions.read()
    with made_of(config):
        producer = Client(config, producer_of, settings_of(config, alone=False), rights=WRITING_FIX)
    sending = Sending(producer, topics, config)
    for name in positions.texts:
        sending.put(positions.topic, None, positions.key(name), 0)
    sending.settle(whole=False)
    ended(producer)
    positions.close()
