"""Takes secrets out of what goes into a diagnosis (invariant 6): by their names, by their forms, and those that are known. Pure.

Services tell no secrets, so most of what comes here has none. This is for what others say: libraries, Java, command lines.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

HIDDEN = "***"
LEAST = 6
"""A known secret that is shorter is not looked for: it would be found in everything. One beside its name is hidden all the same."""
_WORDS = (
    r"secret|passwor[dt]|passwd|passphrase|pwd|token|credential|api[_.-]?key|access[_.-]?key|account[_.-]?key|private[_.-]?key"
    r"|authorization|jaas|cookie|signature|sas[_.-]"
)
_NAME = re.compile(_WORDS, re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{\w+:[^{}]*\}")
_PLACES = ("_file", "_files", "_folders", "_variables", "_paths", "_names")
"""How names of settings end that sound secret and say where secrets are."""
# Every repetition is bounded or can't begin in the middle of itself: logs have lines of any length.
_BESIDE = re.compile(
    # A reference first, whatever the file that it names is called.
    rf"\$\{{\w{{1,32}}:[^{{}}]{{0,512}}\}}|(?P<head>(?:{_WORDS})[\w.-]{{0,64}}\\?[\"']?\s{{0,8}}(?:=>|[=:])\s{{0,8}})"
    r"(?P<value>\$\{\w{1,32}:[^{}\s]{0,512}\}|\\\"[^\"\\]*\\\"|\"(?:[^\"\\]|\\.)*\"|'[^']*'"
    r"|(?:(?:bearer|basic)\s{1,8})?[^\s,;&\"'()\[\]{}\\]+)",
    re.IGNORECASE,
)
_SPOKEN = re.compile(r"(?P<head>\b(?:bearer|basic)\s{1,8})[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_IN_URL = re.compile(r"(?P<head>://(?:[^\s/@:\"'<>?]{0,256}:)?)[^\s\"'<>]{0,1024}@")
_FORMS = re.compile(
    r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|\Z)"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"
    r"|\bA[KS]IA[A-Z0-9]{16}\b",
    re.DOTALL,
)


def sounds_secret(name: str) -> bool:
    """Whether a name is one of a secret."""
    return bool(_NAME.search(name)) and not name.lower().endswith(_PLACES)


def in_urls(text: str) -> Iterator[str]:
    """The passwords of the URLs in a text."""
    for found in _IN_URL.finditer(text):
        yield found[0].removeprefix(found["head"])[:-1]


def in_flags(command: Iterable[str]) -> Iterator[str]:
    """The secrets that a command line has."""
    yield from (word for word, is_secret in _flagged(command) if is_secret)


class Hider:
    """Hides secrets in texts and documents; learns which there are."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def know(self, secrets: Iterable[str]) -> None:
        """Hide these wherever they are, in URLs and in base64, too."""
        self._known.update(secret for secret in secrets if len(secret) >= LEAST and not _REFERENCE.fullmatch(secret))
        forms = sorted({form for secret in self._known for form in _forms(secret)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, forms))) if forms else None

    def know_keys(self, names: Iterable[str]) -> None:
        """Hide the values of these keys in documents, whatever they sound like."""
        self._keys.update(names)

    def text(self, text: str) -> str:
        """The text without secrets; as long in lines as before, but for private keys."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        text = _FORMS.sub(HIDDEN, text)
        text = _IN_URL.sub(rf"\g<head>{HIDDEN}@", text)
        text = _BESIDE.sub(_beside, text)
        return _SPOKEN.sub(rf"\g<head>{HIDDEN}", text)

    def document(self, value: Any) -> Any:
        """The JSON value without secrets; references to secrets stay."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {self.text(str(key)): self._member(str(key), member) for key, member in value.items()}
            case list() | tuple():
                return [self.document(item) for item in value]
            case _:
                return value

    def words(self, command: Iterable[str]) -> list[str]:
        """The words of a command line: what follows the flag of a secret is one."""
        return [HIDDEN if is_secret else self.text(word) for word, is_secret in _flagged(command)]

    def _member(self, key: str, value: Any) -> Any:
        # Options have prefixes: of sources and sinks in one task, of transforms.
        is_known = any(key.split(".", at)[-1] in self._keys for at in range(key.count(".") + 1))
        if not (is_known or sounds_secret(key)):
            return self.document(value)
        if value is None or isinstance(value, bool) or (isinstance(value, str) and (not value or _REFERENCE.fullmatch(value))):
            return value
        return HIDDEN


def _flagged(command: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """The words of a command line, each with whether the flag before it is one of a secret."""
    is_secret = False
    for word in command:
        yield word, is_secret
        is_secret = word.startswith("-") and "=" not in word and sounds_secret(word.replace("-", "_"))


def _beside(found: re.Match[str]) -> str:
    value = found["value"]
    if value is None or _REFERENCE.fullmatch(value.strip("\"'\\")):
        return found[0]
    quote_mark = next((mark for mark in ('\\"', '"', "'") if value.startswith(mark)), "")
    return f"{found['head']}{quote_mark}{HIDDEN}{quote_mark}"


def _forms(secret: str) -> Iterator[str]:
    """How it may be written: as it is, in JSON, in a URL, and in base64 wherever it begins."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    data = secret.encode("utf-8", "replace")
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        # Without the characters that what is before and behind it has a part in.
        inner = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        if len(inner) >= LEAST:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
