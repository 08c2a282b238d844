"""Bodies of messages in a bucket: see rocketconnect_sdk.claim_check."""

import time

import pytest

from connectors.objects.bodies import bodies_of
from rocketconnect_sdk.claim_check.claim import Claim
from rocketconnect_sdk.claim_check.options import PREFIX, source_options
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config, parse
from tests.servers.objects.s3 import S3, SECRET

BODY = b"\x00body" * 100_000


def config(server: S3, bucket: str) -> Config:
    options = {**server.options(), "url": f"s3://{bucket}/bodies"}
    parsed = parse(source_options(), {PREFIX + key: value for key, value in options.items()})
    return parsed.within(PREFIX).replaced(lambda text: SECRET if text == options["secret.access.key"] else text)


def test_bodies_in_a_bucket_are_stored_once_read_as_they_are_and_removed_when_they_are_old(server: S3, bucket: str) -> None:
    bodies = bodies_of(config(server, bucket))
    claim, other = (Claim.of(uid, "p", 0, (1,), BODY) for uid in ("u", "v"))
    for name in (claim.name, claim.name, other.name):
        bodies.put(name, BODY)
    assert sorted(server.keys(bucket)) == [f"bodies/{claim.name}", f"bodies/{other.name}"]
    assert bodies.get(claim.name, len(BODY)) == BODY
    assert bodies.get(claim.name, len(BODY) - 1) == b"", "what is larger than it should be is not read"
    assert bodies.get(Claim.of("u", "p", 0, (2,), BODY).name, len(BODY)) is None
    assert bodies.expire("u", time.time() - 3_600) == 0
    assert bodies.expire("u", time.time() + 3_600) == 1
    assert server.keys(bucket) == [f"bodies/{other.name}"]


def test_a_bucket_that_is_not_there_is_told_and_is_no_missing_body(server: S3) -> None:
    bodies = bodies_of(config(server, "nowhere"))
    with pytest.raises(PermanentError, match="has no such bucket"):
        bodies.get(Claim.of("u", "p", 0, (1,), BODY).name, 1)
