"""TLS of connections to databases: one group of options for all connectors, and what drivers make of it."""

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.http.login import Tls
from rocketconnect_sdk.http.options import TLS as FILES
from rocketconnect_sdk.http.options import tls_of as files_of
from rocketconnect_sdk.http.options import tls_problems as file_problems
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.hosts import address_of, of_host

_DISABLE, _PREFER, _REQUIRE, _VERIFY_CA, _VERIFY_FULL = MODES = ("disable", "prefer", "require", "verify-ca", "verify-full")
_ALIASES = {
    "ssl.ca.location": ("sslrootcert",),
    "ssl.certificate.location": ("sslcert",),
    "ssl.key.location": ("sslkey",),
    "ssl.key.password": ("sslpassword",),
}
_SYSTEMS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
"""Where systems have the certificates that they trust in one file, as libpq wants them."""
_WORDS = ("certificate", "does not support SSL", "private key", "SSL error: wrong", "alert handshake failure")
"""Of libpq, where TLS is what fails."""
FIX = "Correct ssl.mode and ssl.ca.location, or the certificate of the server; where it wants one of ours, ssl.certificate.location"

TLS = (
    Option(
        "ssl.mode",
        "Whether the connection is encrypted, and whether the server shows that it is the right one. disable: neither. prefer: "
        "encrypted where the server can. require: encrypted, and, where ssl.ca.location is given, by a certificate that comes from "
        "there. verify-ca: always by such a certificate. verify-full: and it is for the name by which the server is reached.",
        default=_PREFER,
        choices=MODES,
        aliases=("sslmode",),
    ),
    *(replace(each, aliases=(*each.aliases, *_ALIASES[each.key])) for each in FILES),
)
"""TLS of a database: `ssl.mode`, `ssl.ca.location`, and a certificate of our own. See tls_of."""


@dataclass(frozen=True, slots=True)
class DatabaseTls:
    """How a connection to a database is encrypted.

    Attributes:
        mode: One of MODES.
        files: Whom we trust, and our own certificate.
    """

    mode: str = _PREFER
    files: Tls = field(default_factory=Tls)

    @property
    def verifies(self) -> bool:
        """Whether the server has to show who it is."""
        return self.mode in (_VERIFY_CA, _VERIFY_FULL) or (self.mode == _REQUIRE and bool(self.files.ca))

    def libpq(self) -> Mapping[str, str]:
        """As parameters of libpq."""
        ca = self.files.ca or (_system() if self.mode == _VERIFY_FULL else "")
        given = {
            "sslrootcert": ca,
            "sslcert": self.files.certificate,
            "sslkey": self.files.key or self.files.certificate,
            "sslpassword": self.files.password,
        }
        return {"sslmode": self._shown, **{name: value for name, value in given.items() if value}}

    def pymysql(self) -> Mapping[str, Any]:
        """As arguments of a connection of PyMySQL.

        Raises:
            PermanentError: a file can't be used.
        """
        match self._shown:
            case "disable":
                return {"ssl_disabled": True}
            case "prefer":
                # Encrypted where the server can is what PyMySQL does of itself.
                return {}
        context = self.files.context()
        context.check_hostname = self.mode == _VERIFY_FULL
        if not self.verifies:
            context.verify_mode = ssl.CERT_NONE
        return {"ssl": context}

    @property
    def _shown(self) -> str:
        """A certificate is shown over TLS alone."""
        return _REQUIRE if self.mode == _PREFER and self.files.certificate else self.mode


def tls_of(config: Config) -> DatabaseTls:
    """By the options TLS."""
    return DatabaseTls(config["ssl.mode"], files_of(config))


def tls_problems(config: Config, host: str, tls: DatabaseTls | None = None) -> Iterable[Problem]:
    """What is wrong with the options TLS, and whether what is secret goes over a network on which others may read it.

    Args:
        config: With the options TLS and `password`.
        host: Of the database, or several with commas between them.
        tls: What the options mean, where others mean something, too.
    """
    tls = tls or tls_of(config)
    mode, files = tls.mode, tls.files
    yield from file_problems(config)
    if mode == _VERIFY_CA and not files.ca:
        fix = "Set it to the certificate that the server's comes from, or ssl.mode=verify-full to trust whom the system trusts."
        yield Problem("ssl.ca.location", "", "is needed with ssl.mode=verify-ca", fix)
    if files.ca and mode in (_DISABLE, _PREFER):
        fix = "Set ssl.mode=verify-full, or remove it."
        yield Problem("ssl.ca.location", files.ca, f"protects nothing with ssl.mode={mode}", fix, is_warning=True)
    if files.certificate and mode == _DISABLE:
        fix = "Set ssl.mode=verify-full, or remove it."
        yield Problem("ssl.certificate.location", files.certificate, "is never shown with ssl.mode=disable", fix)
    try:
        files.context()
    except PermanentError as error:
        yield Problem(error.option, str(config[error.option]), str(error), "Put the file there, or correct the path.")
    if config["password"] and not tls.verifies and not all(_is_here(name) for name, _ in of_host(host)):
        what = (
            "is sent without encryption" if mode == _DISABLE else "is shown to whoever answers there, whatever certificate he has"
        )
        if mode == _PREFER:
            what = f"{what}, and without encryption where he has none"
        fix = (
            "Set ssl.mode=verify-full, and ssl.ca.location where the system does not know who has signed the server's certificate."
        )
        yield Problem("ssl.mode", mode, f"does not protect the connection to {host}: who we are {what}", fix, is_warning=True)


def untrusted(error: BaseException) -> bool:
    """Whether an error of PyMySQL says that TLS fails for what our options or certificates are."""
    reason = getattr(error, "original_exception", None)
    lost = isinstance(reason, ssl.SSLEOFError | ssl.SSLSyscallError | ssl.SSLZeroReturnError)
    return bool(error.args and error.args[0] in (2026, 3159)) or (isinstance(reason, ssl.SSLError) and not lost)


def untrusted_text(text: str) -> bool:
    """The same of what libpq says."""
    return any(words in text for words in _WORDS)


def _is_here(host: str) -> bool:
    address = address_of(host)
    return host.startswith(("/", "@")) or host == "localhost" or (address is not None and address.is_loopback)


def _system() -> str:
    """The file of the certificates that the system trusts; where it has none, the word by which libpq asks OpenSSL."""
    found = ssl.get_default_verify_paths().cafile
    return next((path for path in (found, *_SYSTEMS) if path and Path(path).is_file()), "system")
