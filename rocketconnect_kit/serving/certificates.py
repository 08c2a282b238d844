"""What certificates say: when those in PEM files end, and whom the one names that a peer has shown."""

import binascii
import re
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE, _VERSION, _SHORT_TIME, _TIME = 0x30, 0xA0, 0x17, 0x18


class CertificateUnreadable(ValueError):
    """A file holds no certificate that can be read; the text says which file."""


def valid_until(path: Path) -> float:
    """Return when the certificate of a file ends that ends first, in seconds since 1970.

    Raises:
        CertificateUnreadable: the file has none, or one that is damaged.
    """
    try:
        texts = _PEM.findall(path.read_text(encoding="latin-1"))
        return min(_end(ssl.PEM_cert_to_DER_cert(text)) for text in texts)
    except (OSError, ValueError, IndexError, binascii.Error) as error:
        msg = f"{path}: no certificate (PEM) can be read there: {error}"
        raise CertificateUnreadable(msg) from error


def certificate_name(shown: Any) -> str:
    """Return the common name in a certificate, or the first other name that it is for, as gRPC's callers have it.

    Args:
        shown: As `ssl` tells it of a certificate that was verified; empty or None: there is none.
    """
    told = shown or {}
    common = [value for parts in told.get("subject", ()) for key, value in parts if key == "commonName"]
    return str(next(iter([*common, *(value for _, value in told.get("subjectAltName", ()))]), ""))


def _end(der: bytes) -> float:
    """Walk to the second time of the validity: RFC 5280, section 4.1."""
    _, at, _ = _part(der, 0)
    _, at, _ = _part(der, at)
    if der[at] == _VERSION:
        at = _part(der, at)[2]
    # The number, the algorithm and the issuer.
    for _ in range(3):
        at = _part(der, at)[2]
    kind, at, _ = _part(der, at)
    if kind != _SEQUENCE:
        msg = "no validity stands where it should"
        raise ValueError(msg)
    at = _part(der, at)[2]
    kind, begin, end = _part(der, at)
    text = der[begin:end].decode("ascii")
    if kind == _SHORT_TIME:
        # Two digits of the year: from 50 on they are of the last century.
        text = ("19" if int(text[:2]) >= 50 else "20") + text
    elif kind != _TIME:
        msg = "no time stands where it should"
        raise ValueError(msg)
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()


def _part(der: bytes, at: int) -> tuple[int, int, int]:
    """The kind of what begins here, where its value begins, and where it ends."""
    kind, length, at = der[at], der[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length = int.from_bytes(der[at : at + count])
        at += count
    if at + length > len(der):
        msg = "it is cut off"
        raise ValueError(msg)
    return kind, at, at + length
