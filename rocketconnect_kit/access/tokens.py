"""The file that says who may call: a line for each, with the hash of a token and never the token."""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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
_UNTIL = "until="
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@*-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_WORDS = (3, 4)
"""So many a line has, without and with an end."""
_Seen = tuple[int, int, int]
_GONE: _Seen = (0, 0, 0)
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls.

    Attributes:
        name: As the file has it; of a worker the id that it has, in which * stands for any characters.
        role: What it may do.
        until: From then on it is not known; None: it is for as long as its line stands there.
    """

    name: str
    role: Role
    until: datetime | None = None

    def seconds_left(self, now: datetime) -> float | None:
        """Return for how long it is known yet; None: for as long as its line stands there."""
        return None if self.until is None else max(0.0, (self.until - now).total_seconds())


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


def line(name: str, role: Role, token: str, until: datetime | None = None) -> str:
    """Return the line for somebody who shows this token.

    Raises:
        ValueError: the name cannot be one; the text says how to write it.
    """
    return _line(name, role, f"{_HASH}{digest(token)}", until)


def key_line(name: str, role: Role, key: str, until: datetime | None = None) -> str:
    """Return the line for somebody who signs calls with this public key; see `signing`. Raises as `line` does."""
    return _line(name, role, f"{_KEY}{key}", until)


def _line(name: str, role: Role, shown: str, until: datetime | None) -> str:
    if problem := name_problem(name):
        raise ValueError(problem)
    end = "" if until is None else f" {_UNTIL}{end_text(until)}"
    return f"{name} {role.value} {shown}{end}\n"


def end_text(until: datetime) -> str:
    """Return an end as a line has it: 2026-12-31T00:00:00Z."""
    return until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def name_problem(name: str) -> str:
    """Return what is wrong with the name of a caller; "": nothing."""
    if _NAME.fullmatch(name):
        return ""
    return f"{name[:128]!r} is no name: use 1 to 128 letters, digits and . _ @ -, beginning with a letter or a digit"


def parse(text: str) -> Known:
    """Return who may call, as the text of a file says: lines of "NAME ROLE" and sha256:DIGEST, ed25519:KEY or certificate.

    With until=TIME behind it somebody is known until then. Lines that are empty or begin with # mean nothing; one that is wrong
    lets nobody in, and the others stay right.
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
        name, role, shown, *end = words
        identity = Identity(name, Role(role), _until(end[0]) if end else None)
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
        now: The time, with its zone.
    """

    def __init__(self, files: Sequence[Path], now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._files = [_Watched(path) for path in files]
        self._now = now
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
        return next((each for each in found if each is not None and self._is_known(each)), None)

    def signer(self, key: str) -> Identity | None:
        """Return who signs calls with a key, of which this is the public half; None: nobody who is known."""
        found = (each.by_key.get(key) for each in self.known())
        return next((each for each in found if each is not None and self._is_known(each)), None)

    def _is_known(self, who: Identity) -> bool:
        return who.until is None or self._now() < who.until


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
    if len(words) not in _WORDS:
        return f'write "NAME ROLE {_HASH}DIGEST", "NAME ROLE {_KEY}KEY" or "NAME ROLE {_CERTIFICATE}"'
    name, role, shown, *end = words
    if problem := name_problem(name):
        return problem
    if role not in {each.value for each in Role}:
        return f"{role[:40]!r} is no role: write {', '.join(each.value for each in Role)}"
    mark, digits = shown[: len(shown) - 64], shown[-64:]
    if shown != _CERTIFICATE and not (mark in (_HASH, _KEY) and _DIGEST.fullmatch(digits)):
        # Not shown: it may be a token that somebody wrote there by mistake.
        fix = "`rocketconnect token create` makes one"
        return f"the third word is neither {_CERTIFICATE} nor {_HASH} or {_KEY} with 64 digits from 0 to f; {fix}"
    if end and _until(end[0]) is None:
        return f"the fourth word is no time with a zone; write {_UNTIL}2026-12-31T00:00:00Z, or leave it out"
    return ""


def _until(word: str) -> datetime | None:
    """Return the end that a word names; None: it names none."""
    try:
        named = datetime.fromisoformat(word.removeprefix(_UNTIL))
        # What has no zone would mean another time on another machine.
        return named.astimezone(UTC) if word.startswith(_UNTIL) and named.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
