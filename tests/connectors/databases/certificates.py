"""Certificates for servers and clients of a test, by an authority of its own."""

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates.

    Args:
        folder: Where its own is, and those that it signs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"the authority of {folder.name}")])
        folder.mkdir(parents=True, exist_ok=True)
        made = self._begun(self._name, self._key, datetime.now(UTC) + timedelta(days=2))
        self.certificate = folder / "authority.pem"
        signed = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
            self._key, hashes.SHA256()
        )
        self.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, *, expired: bool = False, password: str = "") -> tuple[Path, Path]:
        """Files with a certificate and its key.

        Args:
            name: A name or an address.
            expired: It was good until yesterday.
            password: Of the key; empty: none.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        until = datetime.now(UTC) + timedelta(days=-1 if expired else 1)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        is_address = name.replace(".", "").isdecimal()
        names = [x509.IPAddress(ip_address(name)) if is_address else x509.DNSName(name)]
        made = self._begun(subject, key, until).add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = made.sign(self._key, hashes.SHA256())
        certificate, own = (self._folder / f"{name}{'-expired' * expired}.{kind}" for kind in ("pem", "key"))
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        hidden = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        own.unlink(missing_ok=True)
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden))
        return certificate, own

    def _begun(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - timedelta(days=2))
            .not_valid_after(until)
        )
