"""Whether the secrets that running tasks began with are still what their references stand for.

Invariant 6: what a task began with is kept as a hash, by a key that this process alone has and that ends with it.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

from rocketconnect_sdk.configuration.references import ENV, REFERENCE
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config
from services.executor.environment import RELOAD_SECONDS, USUAL_RELOAD_SECONDS
from services.executor.secrets.providers import Unresolved
from services.executor.secrets.resolving import Finder, resolve

_KEY = secrets.token_bytes(32)
_LARGEST_NAME = 200


def _hash(value: str) -> bytes:
    return blake2b(value.encode("utf-8", "surrogatepass"), key=_KEY, digest_size=16).digest()


class BegunWith:
    """The secrets that a task begins with. For one thread at a time.

    Args:
        config: As it is stored, with references.
        environment: That of this process. What is in it stays as it is, so `${env:}` is not looked at again.
    """

    def __init__(self, config: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._options: dict[tuple[str, str], list[str]] = {}
        for option, text in config.items():
            for reference in REFERENCE.finditer(text):
                if reference[1] != ENV.kind:
                    self._options.setdefault((reference[1], reference[2]), []).append(option)
        self._hashes: dict[tuple[str, str], bytes] = {}

    @property
    def is_fixed(self) -> bool:
        """Whether nothing in it can change."""
        return not self._options

    def resolved(self, configs: Sequence[Config]) -> list[Config]:
        """The parsed configurations of the task with what their references stand for now, which is what it begins with.

        Raises:
            ConfigError, SystemAway: as resolve().
        """
        finder = Finder(self._environment)
        found = [resolve(each, self._environment, finder) for each in configs]
        self._hashes = {reference: _hash(value) for reference, value in finder.found.items() if reference in self._options}
        return found

    def changed(self, finder: Finder | None = None) -> str:
        """Which options have another secret now, for people; empty: none has. What can't be read now counts as it was.

        `finder`: of this moment, for several tasks that begin with the same; none: a new one.
        """
        finder = finder or Finder(self._environment)
        away: set[str] = set()
        options: list[str] = []
        for reference, before in self._hashes.items():
            # Who does not answer is not asked for each.
            if reference[0] in away:
                continue
            try:
                if _hash(finder.find(*reference)) != before:
                    options += self._options[reference]
            except Unresolved:
                continue
            except SystemAway:
                away.add(reference[0])
        return ", ".join(dict.fromkeys(option[:_LARGEST_NAME] for option in options))


def why_anew(options: str, failed: str = "") -> str:
    """What is said of a task that begins anew, since options of it have other secrets; `failed`: what it failed with before."""
    what = "options" if ", " in options else "option"
    return f"restarted for a changed secret: {what} {options}" + (f"; with the one before it failed: {failed}" if failed else "")


@dataclass(eq=False)
class _Followed:
    begun: BegunWith
    due: float
    changed: Callable[[str], None] = field(repr=False)


class Renewals:
    """Looks at the secrets of the tasks of this process, all in one thread, which begins with the first of them.

    Args:
        environment: That of this process, which says how often.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._seconds = float(environment.get(RELOAD_SECONDS) or USUAL_RELOAD_SECONDS)
        self._followed: list[_Followed] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def following(self, begun: BegunWith, rest: float, changed: Callable[[str], None]) -> Iterator[None]:
        """Call `changed` once, with why, when a secret has changed while the block runs; not before `rest` seconds are over."""
        if begun.is_fixed or not self._seconds:
            yield
            return
        # Not all processes of all executors at once: they begin together after an outage.
        first = self._seconds * (0.5 + secrets.randbelow(1000) / 2000)
        followed = _Followed(begun, time.monotonic() + max(rest, first), changed)
        with self._lock:
            self._followed.append(followed)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="look at secrets", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                if followed in self._followed:
                    self._followed.remove(followed)

    def _look(self) -> None:
        while True:
            time.sleep(self._seconds / 4)
            now = time.monotonic()
            with self._lock:
                due = [each for each in self._followed if each.due <= now]
            if not due:
                continue
            # One for all: what several tasks begin with is asked for once.
            finder = Finder(self._environment)
            for each in due:
                options = each.begun.changed(finder)
                each.due = time.monotonic() + self._seconds
                if options:
                    self._tell(each, options)

    def _tell(self, followed: _Followed, options: str) -> None:
        with self._lock:
            if followed not in self._followed:
                return
            self._followed.remove(followed)
        followed.changed(why_anew(options))
