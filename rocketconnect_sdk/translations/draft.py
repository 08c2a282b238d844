"""A configuration while it is translated."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from rocketconnect_sdk.errors import Problem

_ADD = "Add it."


class Draft:
    """What of their configuration is not translated yet, what of ours there is by now, and what is to be told.

    Attributes:
        made: Ours.
        dropped: The options of theirs that are left out, each with why.
        problems: What would be written otherwise if it were left out.
        warnings: What else is to be told.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._left = dict(given)
        self._from: dict[str, str] = {}
        self.made: dict[str, str] = {}
        self.dropped: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    @property
    def left(self) -> Mapping[str, str]:
        """What of theirs is not translated yet."""
        return self._left

    def __contains__(self, key: str) -> bool:
        """Whether an option of theirs is given and not translated yet."""
        return key in self._left

    def peek(self, key: str, default: str = "") -> str:
        """What an option of theirs says, which stays."""
        return self._left.get(key, default).strip()

    def take(self, *keys: str, default: str = "") -> str:
        """What the first of these options of theirs says that says anything; all of them are translated then."""
        found = [text for text in (self._left.pop(key, "").strip() for key in keys) if text]
        return found[0] if found else default

    def set(self, key: str, value: str, of: str = "") -> None:
        """Sets an option of ours, which `of`, or several of theirs, became. Two that say it otherwise are a problem."""
        before = self.made.setdefault(key, value)
        if before != value:
            who = " and ".join(sorted({self._from.get(key, key), of or key}))
            self.problems.append(Problem(key, "", f"is said twice, and otherwise, by {who}", "Leave one of them out."))
        self._from.setdefault(key, of or key)

    def default(self, key: str, value: str) -> None:
        """Sets an option of ours that nothing of theirs says, to what their connector does then."""
        if key not in self.made and key not in self._left:
            self.made[key] = value

    def drop(self, key: str, why: str) -> None:
        """Leaves an option of theirs out."""
        if self._left.pop(key, "").strip():
            self.dropped[key] = why

    def refuse(self, key: str, reason: str, fix: str) -> None:
        """An option of theirs without which something else would be written, and that has no counterpart."""
        self._left.pop(key, None)
        self.problems.append(Problem(key, "", reason, fix))

    def warn(self, key: str, reason: str, fix: str) -> None:
        """Something is to be told."""
        self.warnings.append(Problem(key, "", reason, fix, is_warning=True))

    def read(self, key: str, read: Callable[[str], str]) -> str:
        """What an option of theirs is here; what is wrong with it is a problem."""
        text = self.take(key)
        try:
            return read(text)
        except ValueError as error:
            self.problems.append(Problem(key, text, str(error), "Write it as RocketMQ Connect wants it, or give our own option."))
            return ""

    def address(self, scheme: str, host: str, port: str, ours: str = "url") -> None:
        """Makes a URL of two options of theirs. Where `ours` is given it stays."""
        if ours in self._left or not (host in self._left or port in self._left):
            return
        name, number = self.take(host), self.take(port)
        if not name:
            self.problems.append(Problem(host, "", "is required and was not given", _ADD))
            return
        shown = f"[{name}]" if ":" in name else quote(name, safe="")
        self.set(ours, f"{scheme}://{shown}{f':{number}' if number else ''}", f"{host} and {port}")

    def pass_rest(self) -> None:
        """Takes over what is left, as it is."""
        for key in list(self._left):
            self.set(key, self._left.pop(key))
