"""A sender that knows a higher end of its queue than the queue has: what was there is lost. With a real broker."""

import time
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from rocketconnect_kit.clock import boot_seconds
from rocketmq_remoting.batch import EncodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.connections.pending import Pending
from rocketmq_remoting.errors import OutcomeUnknown
from rocketmq_remoting.model import MessageQueue, SendReceipt
from services.executor.contract.metrics import TaskMetrics
from services.executor.runtime.rocketmq.source_marks import Stamper, mark_key
from services.executor.runtime.source.pieces import Piece, Progress, ReadBatch
from services.executor.runtime.source.sender import Confirmed, Lost, Refusal, Sender
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.lease import Lease
from tests.services.executor.runtime.conftest import Tasks, produce, values

pytestmark = pytest.mark.rocketmq

UID, EPOCH, KEPT, KNOWN = "c", 1, 10, 15
Events = list[Confirmed | Refusal | Lost]


@pytest.fixture
def queue(tasks: Tasks) -> MessageQueue:
    queue = produce(tasks, values(KEPT))
    tasks.client.barrier(queue.broker)
    return queue


@pytest.fixture
def sender(tasks: Tasks, queue: MessageQueue) -> Iterator[Sender]:
    lease = Lease()
    lease.renew(boot_seconds() + 600)
    made = Sender(tasks.client, UID, EPOCH, lease, TaskControl(), TaskMetrics(), batch_bytes=1 << 20)
    made.add_queue(queue, KNOWN)
    yield made
    made.close()


def piece_of(queue: MessageQueue, *numbers: int) -> Piece:
    offsets = [(number,) for number in numbers]
    batch = ReadBatch("p", "p", offsets[-1], 0.0, open_pieces=1)
    bodies = [b"record %d" % number for number in numbers]
    return Piece(batch, queue, mark_key(UID, "p"), 0, offsets, bodies, Stamper(UID, EPOCH, "p", 0).stamp(offsets))


def sent(sender: Sender, *pieces: Piece) -> Events:
    for piece in pieces:
        sender.add(piece)
    events: Events = []
    deadline = time.monotonic() + 60
    while not sender.idle:
        assert time.monotonic() < deadline, sender.trouble
        events += sender.pump()
        time.sleep(0.001)
    return events


def lost(events: Events) -> list[tuple[int, int]]:
    return [(event.gap.start, event.gap.end) for event in events if isinstance(event, Lost)]


def unknown(client: Client, queue: MessageQueue, batch: EncodedBatch, *, arrives: bool) -> Pending[SendReceipt]:
    """A send after which the connection breaks."""
    if arrives:
        client.send_batch_async(queue, batch, 10).result()
    pending: Pending[SendReceipt] = Pending(lambda _frame: SendReceipt(queue, 0, 0, ""), time.monotonic() + 10, "a send")
    pending.fail(OutcomeUnknown("the connection broke"))
    return pending


def test_an_answer_that_names_an_offset_before_the_known_end_tells_what_was_lost(sender: Sender, queue: MessageQueue) -> None:
    first, *rest = sent(sender, piece_of(queue, 1, 2, 3))
    assert isinstance(first, Lost)
    assert (first.gap.start, first.gap.end, first.gap.reason, first.floor) == (KEPT, KNOWN, "lost", KEPT)
    assert [(event.floor, event.end) for event in rest if isinstance(event, Confirmed)] == [(KEPT, KEPT + 3)]
    # Told once.
    assert lost(sent(sender, piece_of(queue, 4))) == []


@pytest.mark.parametrize("arrives", [True, False], ids=["that-arrived", "that-did-not-arrive"])
def test_a_send_of_unknown_outcome_after_a_loss_is_found_before_the_known_end_and_not_sent_twice(
    tasks: Tasks, sender: Sender, queue: MessageQueue, arrives: bool
) -> None:
    """It stands before the offset from which on it would be looked for had nothing been lost."""
    send = Client.send_batch_async
    sends = [True]

    def first_breaks(
        client: Client, queue: MessageQueue, batch: EncodedBatch, *given: float, **named: float
    ) -> Pending[SendReceipt]:
        if not sends:
            return send(client, queue, batch, *given, **named)
        sends.clear()
        with patch.object(Client, "send_batch_async", send):
            return unknown(client, queue, batch, arrives=arrives)

    with patch.object(Client, "send_batch_async", first_breaks):
        events = sent(sender, piece_of(queue, 1, 2, 3))
    assert lost(events) == [(KEPT, KNOWN)]
    assert sum(isinstance(event, Confirmed) for event in events) == 1
    assert tasks.bodies() == [*values(KEPT), "record 1", "record 2", "record 3"]


def test_a_successor_looks_from_where_the_queue_goes_on_after_a_loss() -> None:
    queue = MessageQueue("t", "b", 0)
    progress = Progress({}, 0)
    progress.add_queue(queue, KEPT)
    covered, waits = piece_of(queue, 1, 2, 3, 4, 5), piece_of(queue, 6)
    waits.batch.open_pieces = 2
    for piece in (covered, waits):
        progress.read(piece.batch)
    progress.confirmed(covered, KEPT, KNOWN)
    progress.confirmed(waits, KNOWN, KNOWN + 1)
    assert progress.floors({}) == {queue: KNOWN}
    progress.lost(queue, KEPT + 1)
    assert progress.floors({}) == {queue: KEPT + 1}
