"""Signatures of bodies by a secret that both sides know. Pure.

https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
https://docs.stripe.com/webhooks#verify-manually
"""

import base64
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config

FORMS: Mapping[str, str] = {
    "hex": "X-Signature",
    "base64": "X-Signature",
    "github": "X-Hub-Signature-256",
    "stripe": "Stripe-Signature",
}
"""What signatures look like, and the header that they stand in."""
FORMS_DOC = (
    "How it is written: hex, base64, github (sha256= and hexadecimal digits), or stripe (the time, and the signature of time and "
    "body: t=1767225600,v1=...)"
)
_GITHUB = "sha256="


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs bodies, and looks at the signatures of others (HMAC-SHA256).

    Attributes:
        secrets: The one that signs; further ones are taken as well.
        form: One of FORMS.
        header: The name of the header.
        tolerance: So many seconds a time of a signature may be away from now.
    """

    secrets: Sequence[str] = field(repr=False)
    form: str = "hex"
    header: str = "X-Signature"
    tolerance: float = 300.0

    def sign(self, body: bytes, now: float) -> str:
        """What the header has."""
        return self._made(self.secrets[0], body, int(now))

    def problem(self, body: bytes, given: str, now: float) -> str | None:
        """What is wrong with the signature of a body; None: somebody who knows a secret has sent it."""
        if not given:
            return f"has no header {self.header}"
        if self.form == "stripe":
            return self._problem_with_time(body, given, now)
        known = [self._made(secret, body, 0) for secret in self.secrets]
        given = given if self.form == "base64" else given.lower()
        return None if _is_any(given, known) else f"has a wrong signature in {self.header}"

    def _problem_with_time(self, body: bytes, given: str, now: float) -> str | None:
        pairs = [pair.strip().partition("=")[::2] for pair in given.split(",")]
        times = [text for name, text in pairs if name == "t" and text.isascii() and text.isdigit() and len(text) < 12]
        if len(times) != 1:
            return f"has no time t= in {self.header}"
        found = [text for name, text in pairs if name == "v1"]
        known = [_digest(secret, body, times[0]).hex() for secret in self.secrets]
        if not any(_is_any(text, known) for text in found):
            return f"has a wrong signature in {self.header}"
        # Told only to those who know the secret.
        away = abs(now - int(times[0]))
        return None if away <= self.tolerance else f"has a signature whose time is {away:.0f} s away from now"

    def _made(self, secret: str, body: bytes, now: int) -> str:
        return _WRITERS[self.form](_digest(secret, body, str(now) if self.form == "stripe" else ""), now)


def check_secrets(config: Config, *keys: str) -> None:
    """Raises PermanentError: what says who somebody is, or signs, is given and stands for nothing, as if it were not."""
    if empty := next((key for key in keys if config.raw.get(key) is not None and not config[key]), None):
        msg = f"{empty} is given, and what it refers to is empty: put the secret there, or remove {empty}"
        raise PermanentError(msg).naming(empty)


def _digest(secret: str, body: bytes, time: str) -> bytes:
    made = hmac.new(secret.encode(), digestmod=sha256)
    if time:
        made.update(f"{time}.".encode())
    made.update(body)
    return made.digest()


def _is_any(given: str, known: Sequence[str]) -> bool:
    data = given.encode("utf-8", "surrogateescape")
    return any(hmac.compare_digest(data, each.encode()) for each in known)


_WRITERS: Mapping[str, Callable[[bytes, int], str]] = {
    "hex": lambda digest, _: digest.hex(),
    "base64": lambda digest, _: base64.b64encode(digest).decode(),
    "github": lambda digest, _: f"{_GITHUB}{digest.hex()}",
    "stripe": lambda digest, now: f"t={now},v1={digest.hex()}",
}
