from collections.abc import Sequence

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.letters.dead_letters import PREFIX
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Rejected, SourceBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.stages import Stage
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.source.encode import Encoded, Encoder, Target
from services.executor.runtime.source.takeover import Found

BAD = Rejected("Bad", "it is bad", b"original", 8, "00")


def queues(topic: str) -> Sequence[MessageQueue]:
    return [MessageQueue(topic, "b", number) for number in range(4)]


class Named(Converter):
    """Writes the topic before the value; refuses the value "bad"."""

    name = "named"
    by_topic = True
    topic = ""

    def for_topic(self, topic: str) -> None:
        self.topic = topic

    def encode(self, value: object, schema: Schema | None) -> bytes:
        if value == "bad":
            raise RecordError("it is bad")
        return f"{self.topic}:{value}".encode()

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        return data, None


def encode(
    batch: SourceBatch,
    *,
    tolerant: bool = True,
    dead: str = "",
    batch_bytes: int = 1 << 20,
    record_bytes: int = 100,
    by: Converter | None = None,
) -> Encoded:
    policy = ErrorPolicy(tolerant=tolerant, dead_letter_topic=dead, properties=True, log=False, log_values=False)
    text = converter("string", {}, is_key=False)
    target = Target(
        connector="c",
        uid="u",
        task=0,
        epoch=5,
        topic="t",
        queues=queues,
        source=None,
        key=by or text,
        value=by or text,
        policy=policy,
        batch_bytes=batch_bytes,
        batch_records=1_000,
        record_bytes=record_bytes,
    )
    return Encoder(target, lambda _partition: 2, Found({}, {})).encode(batch, 1.0)


def batch(values: Sequence[object], **columns: object) -> SourceBatch:
    return SourceBatch("p", values, [(number,) for number in range(1, len(values) + 1)], **columns)  # type: ignore[arg-type]


def test_records_without_keys_become_one_piece_with_their_places() -> None:
    encoded = encode(batch(["a", "b"]))
    (piece,) = encoded.pieces
    assert piece.bodies == [b"a", b"b"]
    assert [decode_properties(raw) for raw in piece.properties] == [{"RCPOS": "u|5|p|2|1"}, {"RCPOS": "u|5|p|2|2"}]
    assert (encoded.batch.end, encoded.batch.open_pieces, encoded.count) == ((2,), 1, 2)


def test_large_batches_are_cut_and_every_piece_is_counted() -> None:
    encoded = encode(batch(["x" * 90] * 50), batch_bytes=1_000)
    assert len(encoded.pieces) == encoded.batch.open_pieces > 5
    assert [offset for piece in encoded.pieces for offset in piece.offsets] == [(number,) for number in range(1, 51)]
    assert all(piece.size <= 1_000 for piece in encoded.pieces)


def test_keys_headers_times_and_tombstones_become_properties() -> None:
    encoded = encode(
        batch(
            ["a", None, "c"],
            keys=["k", b"\xff\xfe".decode("latin-1"), None],
            headers=[{"h": "1", "TAGS": "x"}, {}, {}],
            timestamps_ms=[7, 8, 9],
        )
    )
    found = {
        body: decode_properties(raw) for piece in encoded.pieces for body, raw in zip(piece.bodies, piece.properties, strict=True)
    }
    assert found[b"a"] == {"RCPOS": "u|5|p|2|1", "KEYS": "k", "connect-ext-h": "1", "TAGS": "x", "connect.timestamp": "7"}
    assert found[b""]["connect-tombstone"] == "1"
    assert "KEYS" not in found[b"c"]
    assert len({piece.queue for piece in encoded.pieces}) >= 2


def test_a_converter_knows_the_topic_of_each_key_and_value() -> None:
    by = Named(Config({}, {}), is_key=False)
    values = ["a", "b", None, "bad", "c"]
    encoded = encode(batch(values, keys=list("klmno"), topics=["", "other", "other", "other", ""]), by=by)
    found = {
        (piece.queue.topic, body, decode_properties(raw)["KEYS"])
        for piece in encoded.pieces
        for body, raw in zip(piece.bodies, piece.properties, strict=True)
    }
    assert found == {("t", b"t:a", "t:k"), ("other", b"other:b", "other:l"), ("other", b"", "other:m"), ("t", b"t:c", "t:o")}
    assert list(encoded.failures) == [3]
    assert [list(piece.bodies) for piece in encode(batch(["a", "b"]), by=by).pieces] == [[b"t:a", b"t:b"]]


def test_topics_of_records_are_honoured() -> None:
    encoded = encode(batch(["a", "b", "c"], topics=["", "other", ""]))
    assert [(piece.queue.topic, list(piece.bodies)) for piece in encoded.pieces] == [("t", [b"a", b"c"]), ("other", [b"b"])]


def test_without_tolerance_nothing_behind_the_bad_record_is_in_the_pieces() -> None:
    encoded = encode(batch(["a", BAD, "c"]), tolerant=False)
    assert [piece.bodies for piece in encoded.pieces] == [[b"a"]]
    assert (encoded.batch.end, encoded.count, encoded.failures) == ((1,), 1, {})
    assert "it is bad" in str(encoded.error)
    assert "`rocketconnect position set NAME p=2 --restart`" in str(encoded.error)
    first = encode(batch([BAD, "c"]), tolerant=False)
    assert (first.pieces, first.count) == ([], 0)


def test_tolerated_records_leave_no_piece_behind_without_a_dead_letter_topic() -> None:
    encoded = encode(batch([BAD, "x" * 101]))
    assert (encoded.pieces, encoded.count, encoded.batch.open_pieces, encoded.batch.end) == ([], 2, 0, (2,))
    assert [failure.error for failure in encoded.failures.values()] == ["Bad", "RecordTooLarge"]


def test_dead_letters_carry_the_place_of_their_record_so_that_they_are_sent_once() -> None:
    encoded = encode(batch(["a", BAD]), dead="d")
    good, letter = encoded.pieces
    assert (good.dead, letter.dead, letter.queue.topic, letter.bodies) == (False, True, "d", [b"original"])
    assert decode_properties(letter.properties[0])["RCPOS"] == "u|5|p|2|2"
    assert encoded.batch.open_pieces == 2


def test_a_dead_letter_keeps_key_tags_and_headers_of_its_record_and_the_topic_it_would_have_gone_to() -> None:
    headers = [{"TAGS": "x", "h": "1"}]
    columns = {"keys": ["k"], "headers": headers, "timestamps_ms": [7], "topics": ["other"]}
    (letter,) = encode(batch(["y" * 101], **columns), dead="d").pieces
    said = decode_properties(letter.properties[0])
    assert (said["KEYS"], said["TAGS"], said["connect-ext-h"], said["connect.timestamp"]) == ("k", "x", "1", "7")
    assert said[f"{PREFIX}topic"] == "other"


def test_a_message_that_the_broker_refuses_keeps_its_properties_as_a_dead_letter() -> None:
    text = converter("string", {}, is_key=False)
    policy = ErrorPolicy(tolerant=True, dead_letter_topic="d", properties=True, log=False, log_values=False)
    target = Target("c", "u", 0, 5, "t", queues, None, text, text, policy, 1 << 20, 1_000, 100)
    encoder = Encoder(target, lambda _partition: 2, Found({}, {}))
    (piece,) = encoder.encode(batch(["v"], keys=["k"]), 1.0).pieces
    letter = encoder.dead_letter(Failure.of_value(Stage.SEND, ValueError("no"), b"v", object), piece)
    assert letter is not None
    said = decode_properties(letter.properties[0])
    assert (said["KEYS"], said["RCPOS"], said[f"{PREFIX}topic"]) == ("k", "u|5|p|2|1", "t")


def test_the_dead_letter_of_a_record_with_a_bad_key_keeps_its_value_and_pretends_no_key() -> None:
    (letter,) = encode(batch(["value"], keys=["\ud800"]), dead="d").pieces
    assert letter.bodies == [b"value"]
    assert not {"KEYS", "connect-key-base64"} & decode_properties(letter.properties[0]).keys()


def test_what_a_converter_says_in_properties_is_in_them_beside_headers() -> None:
    values = [{"id": "1"}, {"none": "id"}, None, {"id": "4"}]
    headers = [{"CE_type": "of the record", "h": "x"}] * 4
    batch = SourceBatch("p", values, [(n,) for n in range(1, 5)], headers=headers, topics=["a", "a", "a", "b"])
    options = {"mode": "binary", "id": "${value.id}", "source": "/${topic}", "type": "t"}
    encoded = encode(batch, by=converter("cloudevents", options, is_key=False))
    assert list(encoded.failures) == [1]
    found = {}
    for piece in encoded.pieces:
        for offset, properties in zip(piece.offsets, piece.properties, strict=True):
            found[offset] = decode_properties(properties)
    event = {"CE_specversion": "1.0", "CE_type": "t", "CE_contenttype": "application/json"}
    assert found[1,].items() >= {**event, "CE_id": "1", "CE_source": "/a", "connect-ext-h": "x"}.items()
    assert found[4,].items() >= {**event, "CE_id": "4", "CE_source": "/b"}.items()
    assert not [name for name in found[3,] if name.startswith("CE_")]
    whole = SourceBatch("p", [{"id": "1"}], [(1,)], properties=[{"A": "a", "CE_id": "other"}])
    (piece,) = encode(whole, by=converter("cloudevents", options, is_key=False)).pieces
    assert decode_properties(piece.properties[0]).items() >= {"A": "a", "CE_id": "1"}.items()
