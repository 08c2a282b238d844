"""Who a service account of Google is: its key, and tokens that are signed with it. Nobody is asked for them."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_LASTS = timedelta(hours=1)
"""The longest that Google takes."""


def key_problem(text: str) -> str | None:
    """What is wrong with the key of a service account; no part of it is repeated."""
    try:
        _parsed(text)
    except ValueError as error:
        return str(error)
    return None


def tokens(text: str) -> Callable[[], dict[str, Any]]:
    """Makes tokens, each with the time at which it ends, of the key of a service account.

    What else the key says is not followed: addresses in it would be those of whoever wrote it.

    Raises:
        ValueError: it is no such key.
    """
    key, email, number = _parsed(text)

    def token() -> dict[str, Any]:
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        now = datetime.now(UTC)
        head = {"alg": "RS256", "typ": "JWT", "kid": number}
        begin, end = int(now.timestamp()), int((now + _LASTS).timestamp())
        claims = {"iss": email, "sub": email, "scope": _SCOPE, "iat": begin, "exp": end}
        signed = f"{_part(json.dumps(head).encode())}.{_part(json.dumps(claims).encode())}"
        signature = key.sign(signed.encode(), PKCS1v15(), SHA256())
        return {"token": f"{signed}.{_part(signature)}", "expires_at": now + _LASTS}

    return token


def _parsed(text: str) -> tuple[Any, str, str]:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = json.loads(text)
        email, number, pem = found["client_email"], found.get("private_key_id", ""), found["private_key"]
        key = load_pem_private_key(pem.encode(), None)
        if not isinstance(key, RSAPrivateKey) or not isinstance(email, str):
            raise TypeError  # noqa: TRY301  # one answer for all that is wrong with it
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        missing = f" ({error} is missing)" if isinstance(error, KeyError) else ""
        msg = f"is no key of a service account as Google gives it, JSON with client_email and private_key{missing}"
        raise ValueError(msg) from None
    return key, email, str(number)


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
