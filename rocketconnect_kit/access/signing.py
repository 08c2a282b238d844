"""Calls that are signed for one receiver: what services show executors in place of their tokens.

A worker says itself where it is called, so what it is shown must be of no use elsewhere. A service signs each call with a key that
is made of its token; executors have the public half in their file of callers, from which nobody makes the other one. What is signed
names the address that is called, the method, for whom it is asked, and until when it counts. Only executors take it.
"""

import base64
import json
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from rocketconnect_kit.access.tokens import Identity, OwnToken

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNED = "RocketConnect-Signed"
"""How the header `authorization` of such a call begins."""

VALID_SECONDS = 120
"""So long what is signed counts, and so much clocks may differ."""

_PURPOSE = b"RocketConnect: calls to executors, version 1\0"
"""What makes the key another one than whatever else may be made of a token."""


class WrongCall(Exception):
    """A signed call is not let in; the message says why, for people."""


def public_key(token: str) -> str:
    """Return what the file of callers has of who signs with this token: 64 hexadecimal digits."""
    return _private_key(token).public_key().public_bytes_raw().hex()


class Signer:
    """Signs calls to one address. For several threads at once.

    Args:
        own: The token of this process.
        address: The receiver, as it says itself where it is reached.
        now: The clock, in seconds since 1970 UTC.
    """

    def __init__(self, own: OwnToken, address: str, now: Callable[[], float] = time.time) -> None:
        self._own = own
        self._address = address
        self._now = now
        self._of: str | None = None
        self._key: Ed25519PrivateKey | None = None

    def header(self, method: str, asked_by: str) -> str | None:
        """Return what the header `authorization` is to say; None: nothing, as this process has no token.

        Args:
            method: "/package.Service/Method".
            asked_by: What the metadata of that name says; "": nothing.
        """
        token = self._own.token()
        if not token:
            return None
        if token != self._of or self._key is None:
            self._key, self._of = _private_key(token), token
        key = self._key.public_key().public_bytes_raw().hex()
        until = int(self._now()) + VALID_SECONDS
        said = json.dumps({"key": key, "to": self._address, "method": method, "by": asked_by, "until": until}).encode()
        return f"{SIGNED} {_text(said)}.{_text(self._key.sign(said))}"


def is_signed(authorization: str | None) -> bool:
    """Whether a header is one of Signer."""
    return authorization is not None and authorization.partition(" ")[0] == SIGNED


def signer_of(
    authorization: str, method: str, asked_by: str, address: str, known: Callable[[str], Identity | None], now: float
) -> Identity:
    """Return who has signed a call.

    Args:
        authorization: The header.
        method: That is called.
        asked_by: What the metadata of that name says; "": nothing.
        address: Where this process is reached.
        known: Who has a public key; None: nobody.
        now: Seconds since 1970 UTC.

    Raises:
        WrongCall: it is not for us, not for this call, too old, or signed by nobody who is known.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        said, signature = map(_bytes, authorization.partition(" ")[2].split("."))
        told: Mapping[str, object] = json.loads(said)
        key = str(told["key"])
        who = known(key)
        if who is None:
            msg = f"nobody has the key {key[:16]}...: `rocketconnect token key` writes its line into the file of callers"
            raise WrongCall(msg)
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, said)
        until = float(str(told["until"]))
    except (ValueError, TypeError, KeyError, RecursionError, InvalidSignature):
        msg = "its signature is none"
        raise WrongCall(msg) from None
    if (told.get("method"), told.get("by")) != (method, asked_by):
        msg = "it is signed for another call"
        raise WrongCall(msg)
    if told.get("to") != address:
        msg = f"it is signed for {str(told.get('to'))[:128]!r}, and this is {address!r}"
        raise WrongCall(msg)
    if not now <= until <= now + 2 * VALID_SECONDS:
        msg = f"it does not count now: the clocks of {who.name!r} and of this machine may differ by no more than {VALID_SECONDS} s"
        raise WrongCall(msg)
    return who


def _private_key(token: str) -> "Ed25519PrivateKey":
    # Not everybody who imports this signs, and it takes a while to load.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    # A plain hash is enough: tokens are long and random.
    return Ed25519PrivateKey.from_private_bytes(sha256(_PURPOSE + token.encode()).digest())


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
