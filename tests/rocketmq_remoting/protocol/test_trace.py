"""What clients write into the trace topic: read as RocketMQ's own client writes it, and the garbled told apart."""

import pytest

from rocketmq_remoting.protocol.trace import (
    Consumption,
    ConsumptionBegan,
    ConsumptionEnded,
    Recalled,
    Sending,
    Sent,
    TransactionEnded,
    decode_trace,
)

# As RocketMQ 5.5's Java client wrote them.
_PUB = "Pub|1796116284056|DefaultRegion|producer|orders|ID1|tag|order-1 other|127.0.0.1:16089|6|400|0|7F01|true"
_BEFORE = "SubBefore|1796116288859|DefaultRegion|consumer|REQ1|ID1|1|order-1 other"
_AFTER = "SubAfter|REQ1|ID1|6|false|order-1 other|4|1796116288865|consumer"
_SENT = Sent(
    time_ms=1796116284056,
    region="DefaultRegion",
    group="producer",
    topic="orders",
    message_id="ID1",
    tags="tag",
    keys="order-1 other",
    store_host="127.0.0.1:16089",
    body_bytes=6,
    cost_ms=400,
    message_type="normal",
    success=True,
    offset_message_id="7F01",
)
_BEGAN = ConsumptionBegan(
    time_ms=1796116288859,
    region="DefaultRegion",
    group="consumer",
    request_id="REQ1",
    message_id="ID1",
    retries=1,
    keys="order-1 other",
)
_ENDED = ConsumptionEnded(
    request_id="REQ1",
    message_id="ID1",
    cost_ms=6,
    success=False,
    keys="order-1 other",
    result="failed",
    time_ms=1796116288865,
    group="consumer",
)


def body(*contexts: str) -> bytes:
    return "".join(f"{context}\x02" for context in contexts).replace("|", "\x01").encode()


def test_what_the_java_client_writes_is_read() -> None:
    assert decode_trace(body(_PUB, _BEFORE, _AFTER)) == ([_SENT, _BEGAN, _ENDED], 0)
    (ended, recalled), garbled = decode_trace(
        body(
            "EndTransaction|5|r|producer|orders|ID1|null|null|host:1|2|TX|ROLLBACK_MESSAGE|true",
            "Recall|6|r|producer|orders|ID1|true",
        )
    )
    assert garbled == 0
    assert isinstance(ended, TransactionEnded)
    assert (ended.tags, ended.keys, ended.transaction_id, ended.state, ended.asked) == ("", "", "TX", "rolled back", True)
    assert recalled == Recalled(time_ms=6, group="producer", topic="orders", message_id="ID1", success=True)


@pytest.mark.parametrize(
    ("context", "offset_message_id", "client_host"),
    [
        (_PUB.replace("|7F01", ""), "", ""),
        (_PUB, "7F01", ""),
        (f"{_PUB}|10.0.0.1", "7F01", "10.0.0.1"),
    ],
)
def test_producers_of_all_ages_are_read(context: str, offset_message_id: str, client_host: str) -> None:
    ((sent,), garbled) = decode_trace(body(context))
    assert isinstance(sent, Sent)
    assert (sent.offset_message_id, sent.client_host, sent.success, garbled) == (offset_message_id, client_host, True, 0)


@pytest.mark.parametrize(
    ("context", "result", "time_ms"),
    [
        ("SubAfter|REQ1|ID1|6|true|k", "success", 0),
        ("SubAfter|REQ1|ID1|6|false|k|0|", "failed", 0),
        ("SubAfter|REQ1|ID1|6|false|k|1|9|group", "time-out", 9),
        ("SubAfter|REQ1|ID1|6|false|k|0|9|group", "failed", 9),
    ],
)
def test_consumers_of_all_ages_are_read(context: str, result: str, time_ms: int) -> None:
    ((ended,), _) = decode_trace(body(context))
    assert isinstance(ended, ConsumptionEnded)
    assert (ended.result, ended.time_ms) == (result, time_ms)


@pytest.mark.parametrize(
    "context",
    [
        "",
        "Pub",
        "Unknown|1|2",
        _PUB.replace("1796116284056", "yesterday"),
        _PUB.replace("|true", "|perhaps"),
        _PUB.replace("|400|0|", "|400|9|"),
        _PUB.replace("|400|0|", "|400|-1|"),
        _BEFORE.rpartition("|")[0],
        "SubAfter|REQ1|ID1|6|false|k|17",
        "EndTransaction|5|r|producer|orders|ID1|null|null|host:1|2|TX|PERHAPS|true",
        "\ufffd",
    ],
)
def test_garbled_contexts_are_left_out_and_counted_and_those_beside_them_are_read(context: str) -> None:
    assert decode_trace(body(_BEFORE, context, _AFTER)) == ([_BEGAN, _ENDED], 1 if context else 0)


def test_no_bytes_stop_the_decoder() -> None:
    assert decode_trace(b"") == ([], 0)
    assert decode_trace(b"\xff\x00\x01\x02\x02\x01") == ([], 2)


def test_what_is_written_is_read_again_and_has_something_in_the_place_of_no_keys() -> None:
    got = Consumption("DefaultRegion", "consumer", "REQ1", 1796116288859, 1796116288865)
    written = got.encode("ID1", "order-1 other", success=False)
    assert written.encode() == body(_BEFORE.replace("|ID1|1|", "|ID1|0|"), _AFTER)
    # RocketMQ's own decoder fails where the last field is empty.
    before, after = got.encode("ID1", "", success=True).rstrip("\x02").split("\x02")
    assert before.endswith("\x010\x01null")
    (began, ended), garbled = decode_trace(f"{before}\x02{after}\x02".encode())
    assert (began.message_id, ended.message_id, garbled) == ("ID1", "ID1", 0)
    assert isinstance(ended, ConsumptionEnded)
    assert (ended.keys, ended.result, ended.success, ended.cost_ms) == ("", "success", True, 6)


def test_what_a_producer_writes_is_read_again() -> None:
    sending = Sending("producer", "orders", "127.0.0.1:16089", 1796116284056, 400)
    written = sending.encode("ID1", "tag", "order-1 other", 6, "7F01")
    assert written.encode() == body(_PUB.replace("DefaultRegion", ""))
    ((sent,), garbled) = decode_trace(sending.encode("ID1", "", "", 0, "7F01").encode())
    assert isinstance(sent, Sent)
    assert (sent.tags, sent.keys, sent.success, garbled) == ("", "", True, 0)
