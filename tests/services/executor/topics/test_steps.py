"""What happened to a message, as the contexts of its trace say."""

from dataclasses import replace

from rocketmq_remoting.protocol.trace import ConsumptionBegan, ConsumptionEnded, Recalled, Sent, TransactionEnded
from services.executor.topics.steps import Step, Told, steps

_SENT = Sent(
    time_ms=10,
    region="",
    group="p",
    topic="t",
    message_id="ID",
    tags="",
    keys="",
    store_host="b:1",
    body_bytes=1,
    cost_ms=2,
    message_type="normal",
    success=True,
)
_BEGAN = ConsumptionBegan(time_ms=20, region="", group="c", request_id="R1", message_id="ID", retries=1, keys="")
_ENDED = ConsumptionEnded(
    request_id="R1", message_id="ID", cost_ms=5, success=False, keys="", result="exception", time_ms=26, group="c"
)


def test_begin_and_end_of_a_consumption_are_one_step_and_all_stand_in_their_order() -> None:
    told = [Told(_ENDED, "h2"), Told(_BEGAN, "h2"), Told(_SENT, "h1")]
    sent = Step("SENT", "p", "h1", 10, 2, "success", store_host="b:1", message_type="normal")
    assert steps(told) == [sent, Step("CONSUMED", "c", "h2", 20, 5, "exception", retries=1)]


def test_what_is_told_twice_happened_once() -> None:
    assert len(steps([Told(_SENT, "h1"), Told(_SENT, "h1"), Told(_BEGAN, "h2"), Told(_BEGAN, "h2")])) == 2


def test_a_consumption_of_which_one_half_is_lost_is_shown_with_the_other() -> None:
    assert steps([Told(_BEGAN, "h")]) == [Step("CONSUMED", "c", "h", 20, retries=1)]
    assert steps([Told(_ENDED, "h")]) == [Step("CONSUMED", "c", "h", 21, 5, "exception")]
    # An old client tells no time and no group at the end.
    assert steps([Told(replace(_ENDED, time_ms=0, group=""), "h")]) == [Step("CONSUMED", "", "h", 0, 5, "exception")]


def test_each_try_of_a_group_is_a_step() -> None:
    again = replace(_BEGAN, request_id="R2", time_ms=30, retries=2)
    assert [step.retries for step in steps([Told(again, "h"), Told(_BEGAN, "h")])] == [1, 2]


def test_producers_that_tell_their_address_and_ends_of_transactions_and_recalls_are_shown() -> None:
    (sent,) = steps([Told(replace(_SENT, client_host="own", success=False), "seen")])
    assert (sent.client_host, sent.result) == ("own", "failed")
    transaction = TransactionEnded(
        time_ms=1,
        group="p",
        topic="t",
        message_id="ID",
        tags="",
        keys="",
        store_host="b:1",
        transaction_id="",
        state="committed",
        asked=False,
    )
    recall = Recalled(time_ms=2, group="p", topic="t", message_id="ID", success=True)
    assert steps([Told(recall, "h"), Told(transaction, "h")]) == [
        Step("TRANSACTION_ENDED", "p", "h", 1, result="committed", store_host="b:1"),
        Step("RECALLED", "p", "h", 2, result="success"),
    ]
