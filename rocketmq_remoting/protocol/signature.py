"""RocketMQ's ACL signature (the same in ACL 1.0 and 2.0)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key and its secret; the secret is left out of every text form (Invariant 6)."""

    access_key: str
    secret_key: str = field(repr=False)


def sign(credentials: Credentials, fields: Mapping[str, str], body: bytes) -> dict[str, str]:
    """Return the fields with access key and signature: HMAC-SHA1 over all values, ordered by name, and the body."""
    signed = {**fields, "AccessKey": credentials.access_key}
    content = "".join(signed[name] for name in sorted(signed)).encode()
    digest = hmac.new(credentials.secret_key.encode(), content, hashlib.sha1)
    digest.update(body)
    signed["Signature"] = base64.b64encode(digest.digest()).decode()
    return signed
