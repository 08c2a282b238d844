"""Seals secrets for a store: AES-256-GCM, with keys that the store does not have.

A sealed text is `v1:KEY:TEXT`: which key sealed it (the beginning of a hash of it), and nonce and ciphertext in base64. It opens
under the name that it was sealed for, and under no other.
"""

import hashlib
import hmac
import secrets
import stat
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

_VERSION = "v1"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_OTHERS = stat.S_IRWXO


class CannotOpen(Exception):
    """A sealed text does not open: no key is its own, it was sealed for another name, or it was changed."""


class Keys:
    """The keys of a keystore: the first one seals, each of them opens. Safe to use from any thread.

    Args:
        keys: 32 bytes each; at least one.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {hashlib.sha256(key).hexdigest()[:8]: key for key in keys}
        self._first = next(iter(self._keys))

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """The keys in a file: a line of base64 for each, see new_key.

        Raises:
            ValueError: says what is wrong with the file, and nothing of what is in it.
        """
        try:
            if path.stat().st_mode & _OTHERS:
                msg = "everybody on the machine can use it; chmod 600 it"
                raise ValueError(msg)
            lines = path.read_text(encoding="ascii").split()
        except OSError as error:
            msg = f"it cannot be read: {error.strerror}"
            raise ValueError(msg) from None
        except UnicodeDecodeError:
            lines = ["?"]
        keys = [_key(line) for line in lines]
        if not keys or None in keys:
            msg = "it does not hold keys, one a line; make one with `rocketconnect secret new-key FILE`"
            raise ValueError(msg)
        return cls([key for key in keys if key is not None])

    def seal(self, name: str, value: str) -> str:
        """A text for a store."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._keys[self._first]).encrypt(nonce, value.encode(), _bound(name))
        return f"{_VERSION}:{self._first}:{b64encode(nonce + sealed).decode()}"

    def open(self, name: str, sealed: str) -> str:
        """What was sealed under this name.

        Raises:
            CannotOpen: see there.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        version, _, rest = sealed.partition(":")
        key, _, text = rest.partition(":")
        if version != _VERSION or key not in self._keys:
            msg = "it was sealed with a key that is not in the file of keys"
            raise CannotOpen(msg)
        changed = "it was sealed for another name, or was changed"
        try:
            data = b64decode(text, validate=True)
            if b64encode(data).decode() != text:  # the last bits of base64 may stand for nothing
                raise CannotOpen(changed)
            return AESGCM(self._keys[key]).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], _bound(name)).decode()
        except (InvalidTag, ValueError):
            raise CannotOpen(changed) from None

    def is_of_first(self, sealed: str) -> bool:
        """Whether the key that seals now has sealed it."""
        return sealed.startswith(f"{_VERSION}:{self._first}:")

    def mark(self, *texts: str) -> str:
        """The same 16 hexadecimal digits for the same texts, of which nobody without the key learns anything."""
        key = hmac.digest(self._keys[self._first], b"rocketconnect mark", "sha256")
        return hmac.digest(key, "\0".join(texts).encode(), "sha256").hex()[:16]


def new_key() -> str:
    """A key as a line of a file of keys."""
    return b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def _key(line: str) -> bytes | None:
    try:
        key = b64decode(line, validate=True)
    except ValueError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _bound(name: str) -> bytes:
    return f"rocketconnect keystore\0{name}".encode()
