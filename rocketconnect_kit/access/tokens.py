"""The file that says who may call: a line for each, with the hash of a token and never the token."""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.logs import get_logger

AUTHORIZATION = "authorization"
"""The name of the header, and of the metadata, that shows a token."""
BEARER = "Bearer"
_TOKEN_BYTES = 32
_MARK = "rct_"
"""How tokens begin, so that who looks for secrets in files finds them."""
_HASH = "sha256:"
_KEY = "ed25519:"
_CERTIFICATE = "certificate"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@*-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_Seen = tuple[int, int, int]
_GONE: _Seen = (0, 0, 0)
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls.

    Attributes:
        name: As the file has it; of a worker the id that it has, in which * stands for any characters.
        role: What it may do.
    """

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Known:
    """Who may call, as a file says.

    Attributes:
        by_digest: By the SHA-256 of a token, in hexadecimal digits.
        by_certificate: By the name in a client's certificate.
        by_key: By the public key that calls are signed with, in hexadecimal digits; see `signing`.
        problems: What is wrong with the file, a sentence for each line that was left out.
    """

    by_digest: Mapping[str, Identity]
    by_certificate: Mapping[str, Identity]
    by_key: Mapping[str, Identity]
    problems: tuple[str, ...] = ()


def new_token() -> str:
    """Return a token that nobody can guess: 256 random bits."""
    return _MARK + secrets.token_urlsafe(_TOKEN_BYTES)


def digest(token: str) -> str:
    """Return what the file has of a token.

    A plain hash is enough: what is hashed is random and long, so there is nothing to try out as there is with passwords.
    """
    return sha256(token.encode()).hexdigest()


def line(name: str, role: Role, token: str) -> str:
    """Return the line for somebody who shows this token.

    Raises:
        ValueError: the name cannot be one; the text says how to write it.
    """
    if problem := name_problem(name):
        raise ValueError(problem)
    return f"{name} {role.value} {_HASH}{digest(token)}\n"


def key_line(name: str, role: Role, key: str) -> str:
    """Return the line for somebody who signs calls with this public key; see `signing`. Raises as `line` does."""
    if problem := name_problem(name):
        raise ValueError(problem)
    return f"{name} {role.value} {_KEY}{key}\n"


def name_problem(name: str) -> str:
    """Return what is wrong with the name of a caller; "": nothing."""
    if _NAME.fullmatch(name):
        return ""
    return f"{name[:128]!r} is no name: use 1 to 128 letters, digits and . _ @ -, beginning with a letter or a digit"


def parse(text: str) -> Known:
    """Return who may call, as the text of a file says: lines of "NAME ROLE" and sha256:DIGEST, ed25519:KEY or certificate.

    Lines that are empty or begin with # mean nothing; one that is wrong lets nobody in, and the others stay right.
    """
    by_digest: dict[str, Identity] = {}
    by_certificate: dict[str, Identity] = {}
    by_key: dict[str, Identity] = {}
    problems = []
    for number, words in _lines(text):
        problem = _line_problem(words)
        if not problem and words[2].removeprefix(_HASH) in by_digest:
            problem = "the token of another line: give each its own"
        if problem:
            problems.append(f"line {number}: {problem}")
            continue
        name, role, shown = words
        identity = Identity(name, Role(role))
        if shown == _CERTIFICATE:
            by_certificate[name] = identity
        elif shown.startswith(_KEY):
            by_key[shown.removeprefix(_KEY)] = identity
        else:
            by_digest[shown.removeprefix(_HASH)] = identity
    return Known(by_digest, by_certificate, by_key, tuple(problems))


_NOBODY = Known({}, {}, {})


class Tokens:
    """Files of callers, each read again whenever it has changed. For several threads at once.

    Args:
        files: Their paths. While one is not there, or cannot be read, nobody is let in by it.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = [_Watched(path) for path in files]
        self.known()

    def known(self) -> Sequence[Known]:
        """Return who may call now, by each file."""
        return [file.known() for file in self._files]

    def who(self, authorization: str | None, certificate: str = "") -> Identity | None:
        """Return who calls; None: nobody who is known.

        Args:
            authorization: What the header of that name says.
            certificate: The name in the client's certificate, which was verified; "": it showed none.
        """
        if authorization is None:
            found = (each.by_certificate.get(certificate) for each in self.known() if certificate)
        else:
            kind, _, token = authorization.partition(" ")
            shown = digest(token.strip()) if kind.lower() == BEARER.lower() else ""
            found = (each.by_digest.get(shown) for each in self.known())
        return next((each for each in found if each is not None), None)

    def signer(self, key: str) -> Identity | None:
        """Return who signs calls with a key, of which this is the public half; None: nobody who is known."""
        return next((each.by_key[key] for each in self.known() if key in each.by_key), None)


class _Watched:
    """A file of callers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: _Seen | None = None
        self._known = _NOBODY

    def known(self) -> Known:
        """Return who may call now."""
        try:
            if (seen := _seen(self._path)) != self._seen:
                self._known, self._seen = parse(self._path.read_text(encoding="utf-8")), seen
                for problem in self._known.problems:
                    _log.error("a line of the file of callers is left out", file=str(self._path), problem=problem)
                callers = sum(map(len, (self._known.by_digest, self._known.by_certificate, self._known.by_key)))
                _log.info("callers are known", file=str(self._path), callers=callers)
        except (OSError, UnicodeDecodeError) as error:
            if self._seen != _GONE:
                _log.error("the file of callers cannot be read: nobody is let in by it", file=str(self._path), cause=str(error))
            self._known, self._seen = _NOBODY, _GONE
        return self._known


class OwnToken:
    """The token that a process shows others, read again whenever its file has changed. For several threads at once.

    Args:
        path: A file with the token and nothing else; None: it shows none.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: _Seen | None = None
        self._value: str | None = None

    def header(self) -> str | None:
        """Return what the header `authorization` is to say; None: nothing."""
        token = self.token()
        return f"{BEARER} {token}" if token else None

    def token(self) -> str | None:
        """Return the token; None: there is none. The last one counts while the file is not there."""
        if self._path is None:
            return None
        try:
            if (seen := _seen(self._path)) != self._seen:
                self._value, self._seen = self._path.read_text(encoding="ascii").strip(), seen
        except (OSError, UnicodeDecodeError) as error:
            _log.warning("the own token cannot be read", file=str(self._path), cause=str(error))
        return self._value


def _seen(path: Path) -> _Seen:
    """Return what differs when a file has changed. Raises OSError."""
    now = path.stat()
    return now.st_mtime_ns, now.st_ino, now.st_size


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, each in enumerate(text.splitlines(), 1):
        words = each.split()
        if words and not words[0].startswith("#"):
            yield number, words


def _line_problem(words: list[str]) -> str:
    if len(words) != 3:
        return f'write "NAME ROLE {_HASH}DIGEST", "NAME ROLE {_KEY}KEY" or "NAME ROLE {_CERTIFICATE}"'
    name, role, shown = words
    if problem := name_problem(name):
        return problem
    if role not in {each.value for each in Role}:
        return f"{role[:40]!r} is no role: write {', '.join(each.value for each in Role)}"
    mark, digits = shown[: len(shown) - 64], shown[-64:]
    if shown != _CERTIFICATE and not (mark in (_HASH, _KEY) and _DIGEST.fullmatch(digits)):
        # Not shown: it may be a token that somebody wrote there by mistake.
        fix = "`rocketconnect token create` makes one"
        return f"the third word is neither {_CERTIFICATE} nor {_HASH} or {_KEY} with 64 digits from 0 to f; {fix}"
    return ""
