"""Who we are at a server, and whom we trust."""

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rocketconnect_sdk.errors import PermanentError

_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Login:
    """Who we are at a server: by user and password, a token or an API key; empty: nobody.

    Attributes:
        user: Of the scheme Basic.
        password: Of the user.
        token: Of the scheme Bearer.
        api_key: Of the scheme ApiKey.
        names: Of the headers that have user and password, of servers that want them there.
        key_header: The header that has the API key alone; empty: it is in Authorization.
    """

    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    names: tuple[str, str] | None = None
    key_header: str = ""

    @property
    def headers(self) -> Mapping[str, str]:
        """What says so in a request.

        Raises:
            PermanentError: a header can't have it. Never repeats it.
        """
        if self.names:
            return {self.names[0]: _sent(self.user, "user"), self.names[1]: _sent(self.password, "password")}
        if self.key_header and self.api_key:
            return {self.key_header: _sent(self.api_key, "api.key", is_ascii=True)}
        return {"Authorization": header} if (header := self.header) else {}

    @property
    def header(self) -> str:
        """What the header Authorization has; empty: there is none. Raises as headers."""
        if self.token or (self.api_key and not self.key_header):
            scheme, secret, option = ("Bearer", self.token, "token") if self.token else ("ApiKey", self.api_key, "api.key")
            return f"{scheme} {_sent(secret, option, is_ascii=True, is_word=True)}"
        return f"Basic {self._basic}" if self.user or self.password else ""

    @property
    def _basic(self) -> str:
        return base64.b64encode(f"{self.user}:{self.password}".encode()).decode()

    def hidden(self, text: str) -> str:
        """A text of somebody else, such as the answer of a server, without the secrets."""
        for secret in sorted({self.password, self.token, self.api_key, self._basic} - {""}, key=len)[::-1]:
            text = text.replace(secret, _HIDDEN)
        return text


def _sent(text: str, option: str, *, is_ascii: bool = False, is_word: bool = False) -> str:
    if not text.isprintable() or text != text.strip() or (is_ascii and not text.isascii()) or (is_word and " " in text):
        msg = f"{option} has a character that no header has, such as the end of a line: look at where its text comes from"
        raise PermanentError(msg).naming(option)
    return text


class Ending(Protocol):
    """Who we are at a server by something that ends, and may be had anew."""

    @property
    def headers(self) -> Mapping[str, str]:
        """See Login. May ask for it."""

    def renew(self, refused: Mapping[str, str]) -> bool:
        """Forgets it, since these headers with it were refused. False: it was a new one, and the next would be refused as well."""

    def hidden(self, text: str) -> str:
        """See Login."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Whom we trust, and our own certificate. Paths of PEM files; empty: there is none.

    Attributes:
        ca: Certificates that the server's own must come from; empty: those that the system trusts.
        certificate: Our own.
        key: Its key; empty: in the same file.
        password: Of the key.
        prefix: Before the names of the options that say so, for people.
    """

    ca: str = ""
    certificate: str = ""
    key: str = ""
    password: str = field(default="", repr=False)
    prefix: str = ""

    def context(self) -> ssl.SSLContext:
        """What connections are made with.

        Raises:
            PermanentError: a file can't be used.
        """
        try:
            made = ssl.create_default_context(cafile=self.ca or None)
        except (OSError, ssl.SSLError) as error:
            raise self._unusable("ssl.ca.location", self.ca, error, "a readable file with certificates (PEM)") from None
        if self.certificate:
            try:
                # Without a password OpenSSL would ask for one at the terminal.
                made.load_cert_chain(self.certificate, self.key or None, lambda: self.password)
            except (OSError, ssl.SSLError, ValueError) as error:
                wanted = "a readable certificate (PEM), with the key that belongs to it in ssl.key.location"
                raise self._unusable("ssl.certificate.location", self.certificate, error, wanted) from None
        return made

    def _unusable(self, option: str, path: str, error: Exception, wanted: str) -> PermanentError:
        said = getattr(error, "strerror", None) or error
        name = f"{self.prefix}{option}"
        return PermanentError(f"{name}={path}: {said}. Put {wanted} there on the executor").naming(name)
