"""Large bodies of a source are stored beside the topic, and found there by a sink."""

from collections.abc import Sequence
from pathlib import Path

from rocketconnect_sdk.claim_check.bodies import Bodies, FolderBodies
from rocketconnect_sdk.claim_check.claim import PROPERTY, Claim
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.record import SourceBatch
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.source.encode import Encoded, Target
from services.executor.runtime.source.encoders import ClaimingEncoder
from services.executor.runtime.source.takeover import Found

SMALL, LARGE = "s" * 100, "l" * 101


def encode(bodies: Bodies, values: Sequence[object], *, keys: Sequence[str] | None = None, most: int = 1_000) -> Encoded:
    policy = ErrorPolicy(tolerant=True, dead_letter_topic="", properties=True, log=False, log_values=False)
    text = converter("string", {}, is_key=False)
    target = Target(
        "c", "u", 0, 5, "t", lambda topic: [MessageQueue(topic, "b", 0)], None, text, text, policy, 1 << 20, 1_000, 1_000
    )
    batch = SourceBatch("p", values, [(number,) for number in range(1, len(values) + 1)], keys=keys)
    encoder = ClaimingEncoder(
        target, lambda _: 2, Found({}, {}), bodies, threshold=100, most=most, expiry=None, log=lambda level, message: None
    )
    return encoder.encode(batch, 1.0)


def test_only_bodies_above_the_threshold_are_stored_and_their_messages_say_where(tmp_path: Path) -> None:
    (piece,) = encode(FolderBodies(tmp_path), [SMALL, LARGE, SMALL], keys=["a", "b", "c"]).pieces
    claim = Claim.of("u", "p", 2, (2,), LARGE.encode())
    assert list(piece.bodies) == [SMALL.encode(), claim.body, SMALL.encode()]
    properties = [decode_properties(raw) for raw in piece.properties]
    assert [each.get(PROPERTY) for each in properties] == [None, claim.text, None]
    assert [(each["KEYS"], each["RCPOS"]) for each in properties][1] == ("b", "u|5|p|2|2")
    assert (tmp_path / claim.name).read_text() == LARGE


def test_what_is_encoded_again_overwrites_the_same_body(tmp_path: Path) -> None:
    for _ in range(2):
        encode(FolderBodies(tmp_path), [LARGE])
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_body_above_the_most_is_a_bad_record_and_is_not_stored(tmp_path: Path) -> None:
    encoded = encode(FolderBodies(tmp_path), [LARGE, "x" * 1_001])
    assert {index: failure.error for index, failure in encoded.failures.items()} == {1: "RecordTooLarge"}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_batch_of_small_bodies_touches_no_store(tmp_path: Path) -> None:
    (piece,) = encode(FolderBodies(tmp_path / "none"), [SMALL, None]).pieces
    assert [PROPERTY in decode_properties(raw) for raw in piece.properties] == [False, False]
    assert not (tmp_path / "none").exists()
