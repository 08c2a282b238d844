"""Messages get the bodies that they refer to, and no others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rocketconnect_sdk.claim_check.bodies import Bodies, FolderBodies
from rocketconnect_sdk.claim_check.claim import PROPERTY, Claim
from rocketmq_remoting.batch import DecodedBatch, Source
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties, encode_properties
from services.executor.runtime.sink.decode.claims import Claims

LARGE = b"l" * 100


def claim(number: int, body: bytes = LARGE) -> Claim:
    return Claim.of("u", "p", 0, (number,), body)


def batch(*messages: tuple[bytes, Mapping[str, str]]) -> DecodedBatch:
    count = len(messages)
    source = Source(bytes(100 * count), list(range(0, 100 * count, 100)))
    raws = [encode_properties(properties) for _, properties in messages]
    bodies = [body for body, _ in messages]
    return DecodedBatch(MessageQueue("t", "b", 0), bodies, list(range(7, 7 + count)), raws, [1] * count, [source], count)


def referring(number: int) -> tuple[bytes, Mapping[str, str]]:
    return b"small", {"RCPOS": f"u|1|p|0|{number}", PROPERTY: claim(number).text, "KEYS": "k"}


def parted(bodies: Bodies | None, *messages: tuple[bytes, Mapping[str, str]], at_once: int = 1 << 20) -> list[DecodedBatch]:
    return list(Claims(bodies, 1_000, at_once).parted(batch(*messages)))


def refused(bodies: Bodies | None, properties: Mapping[str, str]) -> str:
    (found,) = parted(bodies, (b"small", properties))
    assert found.bodies == [b"small"]
    assert decode_properties(found.raw_properties[0]) == properties
    return str(found.damaged[7])


def stored(tmp_path: Path, numbers: Sequence[int]) -> FolderBodies:
    bodies = FolderBodies(tmp_path)
    for number in numbers:
        bodies.put(claim(number).name, LARGE)
    return bodies


def test_messages_that_refer_to_bodies_are_as_if_they_had_them(tmp_path: Path) -> None:
    (found,) = parted(stored(tmp_path, [1, 2]), referring(1), (b"own", {"a": "1"}), referring(2))
    assert (found.bodies, dict(found.damaged)) == ([LARGE, b"own", LARGE], {})
    properties = [decode_properties(raw) for raw in found.raw_properties]
    assert properties == [{"RCPOS": "u|1|p|0|1", "KEYS": "k"}, {"a": "1"}, {"RCPOS": "u|1|p|0|2", "KEYS": "k"}]


def test_a_batch_without_references_goes_on_as_it_is() -> None:
    given = batch((b"own", {"a": PROPERTY}))
    assert list(Claims(None, 1, 1).parted(given)) == [given]


def test_no_more_bodies_are_held_at_once_than_are_allowed_but_one(tmp_path: Path) -> None:
    numbers = range(1, 6)
    found = parted(stored(tmp_path, numbers), *map(referring, numbers), at_once=250)
    assert [each.offsets for each in found] == [[7, 8], [9, 10], [11]]
    assert [body for each in found for body in each.bodies] == [LARGE] * 5
    assert [each.offsets for each in parted(stored(tmp_path, numbers), *map(referring, numbers), at_once=1)] == [
        [offset] for offset in range(7, 12)
    ]


def test_a_body_that_is_missing_or_another_one_makes_a_bad_record_that_names_it(tmp_path: Path) -> None:
    bodies = stored(tmp_path, [1])
    assert f"the body {claim(2).name} is not where claim.check.url says" in refused(bodies, {PROPERTY: claim(2).text})
    for damaged in (b"x" * 100, LARGE[:-1], LARGE + b"l"):
        (tmp_path / claim(1).name).write_bytes(damaged)
        assert f"the body {claim(1).name} is not the one that was stored" in refused(bodies, {PROPERTY: claim(1).text})


def test_a_body_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    large = claim(1, b"x" * 1_001)
    assert "1,001 bytes, and claim.check.max.bytes allows 1000" in refused(FolderBodies(tmp_path), {PROPERTY: large.text})


def test_a_forged_reference_reads_no_file_and_a_sink_without_a_place_says_what_to_set(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(LARGE)
    forged = claim(1).text.rpartition("|")[0] + "|../secret"
    assert "is none of a claim check" in refused(FolderBodies(tmp_path / "bodies"), {PROPERTY: forged})
    assert "set claim.check.url to where its source stores bodies" in refused(None, {PROPERTY: claim(1).text})
