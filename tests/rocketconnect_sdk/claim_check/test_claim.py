"""The reference to a body, which anybody may forge who may write to the topic."""

import hashlib

import pytest

from rocketconnect_sdk.claim_check.claim import Claim

BODY = b"x" * 5_000


def of(uid: str = "u-1", partition: str = "/data/../a b.txt#1", incarnation: int = 3, body: bytes = BODY) -> Claim:
    return Claim.of(uid, partition, incarnation, (-7, 12), body)


def test_the_name_is_made_of_the_position_and_of_the_body() -> None:
    claim = of()
    folder = hashlib.sha256(b"/data/../a b.txt#1").hexdigest()[:32]
    digest = hashlib.sha256(BODY).hexdigest()
    assert claim == Claim(f"u-1/{folder}/-7.12-3-{digest[:16]}", 5_000, digest)
    assert of() == claim
    assert len({claim.name, of(partition="b").name, of(incarnation=4).name, of(uid="v").name, of(body=b"y").name}) == 5


def test_what_the_property_says_is_read_again_whatever_the_position_is() -> None:
    for offset in ((0,), (-1, -2), (2**62,) * 40, ()):
        claim = Claim.of("u", "p", 0, offset, BODY) if offset else of()
        assert Claim.parse(claim.text) == claim
        assert len(claim.name) < 400


def test_only_the_body_that_was_meant_fits() -> None:
    claim = of()
    assert claim.fits(BODY)
    assert not claim.fits(BODY + b"x")
    assert not claim.fits(b"y" * 5_000)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "u-1/../../../etc/passwd",
        "/etc/passwd",
        "u-1/" + "0" * 32 + "/../1-0-ff",
        "u-1/" + "0" * 32 + "/1/2",
        "u-1/" + "0" * 32 + "/.staged-ff",
        "u-1/" + "0" * 32 + "/1-0-ff\n",
        "u-1/" + "0" * 32 + "/" + "1" * 300,
        "http://elsewhere/" + "0" * 32 + "/1-0-ff",
        "u%2f/" + "0" * 32 + "/1-0-ff",
    ],
)
def test_a_forged_reference_leads_to_no_other_path_or_host(name: str) -> None:
    with pytest.raises(ValueError, match="no reference"):
        Claim.parse(f"5|{'0' * 64}|{name}")


@pytest.mark.parametrize(
    "text", ["", "5", f"-5|{'0' * 64}|n", f"5|{'0' * 63}|u/{'0' * 32}/1-0-ff", f"{'9' * 16}|{'0' * 64}|u/{'0' * 32}/1"]
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no reference"):
        Claim.parse(text)
