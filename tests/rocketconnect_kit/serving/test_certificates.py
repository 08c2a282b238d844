"""When certificates end, as OpenSSL says of those that it makes."""

import random
import ssl
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rocketconnect_kit.serving.certificates import CertificateUnreadable, valid_until

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "/dev/null")


def openssl(*words: str) -> str:
    return subprocess.run(["openssl", *words], check=True, capture_output=True, text=True, timeout=60).stdout


def made(path: Path, days: int, *more: str) -> Path:
    """A certificate that ends after so many days."""
    openssl("req", "-x509", *_KEY, "-days", str(days), "-subj", "/C=DE/O=A firm/CN=a.host", *more, "-out", str(path))
    return path


def ends(path: Path) -> float:
    text = openssl("x509", "-noout", "-enddate", "-in", str(path)).strip().removeprefix("notAfter=")
    return datetime.strptime(text, "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC).timestamp()


# Beyond 2049 the year has four digits.
@pytest.mark.parametrize("days", [1, 20_000])
def test_the_end_is_the_one_that_openssl_says(tmp_path: Path, days: int) -> None:
    path = made(tmp_path / "one.pem", days)
    assert valid_until(path) == ends(path)


def test_of_a_chain_the_one_that_ends_first_counts_and_what_stands_between_does_not(tmp_path: Path) -> None:
    first, second = made(tmp_path / "a.pem", 30), made(tmp_path / "b.pem", 3, "-addext", "subjectAltName=DNS:a.host")
    chain = tmp_path / "chain.pem"
    chain.write_text(f"Subject: Ärger\n{first.read_text()}\n# and\n{second.read_text()}", encoding="utf-8")
    assert valid_until(chain) == ends(second)


def test_a_file_without_a_certificate_and_no_file_are_said(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for name in ("empty.pem", "none.pem"):
        with pytest.raises(CertificateUnreadable, match=f"{name}: no certificate"):
            valid_until(tmp_path / name)


def test_a_damaged_certificate_ends_in_nothing_else_than_a_word_or_a_time(tmp_path: Path) -> None:
    der = tmp_path / "one.der"
    made(tmp_path / "one.pem", 1, "-outform", "DER").rename(der)
    whole, chosen = der.read_bytes(), random.Random(7)
    damaged = [whole[:length] for length in range(0, len(whole), 3)]
    for _ in range(200):
        bytes_of = bytearray(whole)
        bytes_of[chosen.randrange(150)] = chosen.randrange(256)
        damaged.append(bytes(bytes_of))
    for each in damaged:
        path = tmp_path / "damaged.pem"
        path.write_text(ssl.DER_cert_to_PEM_cert(each))
        with suppress(CertificateUnreadable):
            assert isinstance(valid_until(path), float)
