"""Pages of lists: sizes and opaque tokens."""

import base64
import binascii
import hashlib

from rocketconnect_kit.errors import FieldProblem, InvalidArgument

DEFAULT_SIZE = 100
MAXIMUM_SIZE = 1000


def page_size(requested: int) -> int:
    """Return how many items the page holds: 100 when nothing was asked for, never more than 1,000.

    Raises:
        InvalidArgument: PAGE_SIZE_INVALID for a negative one.
    """
    if requested < 0:
        problem = FieldProblem("page_size", str(requested), "is negative", "use 1..1000, or 0 for 100")
        raise InvalidArgument("PAGE_SIZE_INVALID", str(problem), [problem])
    return min(requested or DEFAULT_SIZE, MAXIMUM_SIZE)


def encode_token(scope: str, last_key: str) -> str:
    """Return the token of the page after `last_key`. `scope` names the list, so that no token works for another one."""
    key = last_key.encode()
    return base64.urlsafe_b64encode(_digest(scope, key) + key).decode()


def decode_token(scope: str, token: str) -> str | None:
    """Return the key after which the page begins; None for the first page (an empty token).

    Raises:
        InvalidArgument: PAGE_TOKEN_INVALID when no answer of the list `scope` gave this token.
    """
    if not token:
        return None
    try:
        raw = base64.b64decode(token, altchars=b"-_", validate=True)
        key = raw[8:].decode()
    except (binascii.Error, UnicodeError, ValueError):
        raw = b""
        key = ""
    if len(raw) < 8 or raw[:8] != _digest(scope, raw[8:]):
        problem = FieldProblem("page_token", token[:100], "is not a token of this list", "use next_page_token of the answer before")
        raise InvalidArgument("PAGE_TOKEN_INVALID", str(problem), [problem])
    return key


def _digest(scope: str, key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=8, person=hashlib.blake2b(scope.encode(), digest_size=16).digest()).digest()
