"""What the gateway knows: health, connectors with what they do, workers, plugins, topics."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rocketconnect_cli.diagnosis.asking import Asking, Unasked
from rocketconnect_cli.diagnosis.bundle import Bundle

MOST_CONNECTORS = 200
"""So many are asked for one by one: those that are not well first."""
_LOG_LINES = 200
_PAGES = 20
_WELL = ("RUNNING", "IDLE", "PAUSED", "STOPPED")
_LISTS = ("states", "workers", "assignments", "topics")
_SKEWED_SECONDS = 2.0


class Gateway:
    """Asks one gateway.

    Args:
        bundle: Gets what it says.
        asking: How it is asked.
        url: Where it is.
        only: Names of connectors; none: all.
        tell: Called with a line for people when there is something new.
    """

    def __init__(self, bundle: Bundle, asking: Asking, url: str, only: Sequence[str], tell: Callable[[str], None]) -> None:
        self._bundle = bundle
        self._asking = asking
        self._url = url.rstrip("/")
        self._only = only
        self._tell = tell

    def health(self) -> float | None:
        """Ask how it and the services behind it are; return by how many seconds its clock is ahead, None: not known."""
        skew = None
        for path in ("/healthz", "/readyz"):
            try:
                answer = self._asking.get(self._url + path)
                self._bundle.text(f"health/gateway{path}.json", answer.text)
                skew = answer.skew if skew is None else skew
                if answer.status != 200:
                    self._bundle.see(f"{self._url}{path} answers {answer.status}: {answer.text}")
            except Unasked as error:
                self._bundle.miss(f"{self._url}{path}", str(error))
                self._bundle.see(f"the gateway does not answer {path}: {error}")
        if skew is not None and abs(skew) > _SKEWED_SECONDS:
            self._bundle.see(f"the clock of the gateway's machine is {skew:+.1f} s beside this one's")
        return skew

    def lists(self, secrets: Callable[[Mapping[str, str]], Iterable[str]]) -> None:
        """Ask for all lists, and for each connector.

        Args:
            secrets: Gives those that a configuration refers to, as far as they are known.
        """
        plugins = self._list("plugins")
        # What else is a secret only plugins know.
        options = (option for plugin in plugins for option in plugin.get("options", []))
        self._bundle.hider.know_keys(str(option.get("key")) for option in options if option.get("secret"))
        shown = ("name", "type", "package", "version", "workers", "guarantee")
        if plugins:
            self._bundle.document("versions/plugins.json", [{key: each[key] for key in shown if key in each} for each in plugins])
        connectors = self._list("connectors")
        for each in connectors:
            self._bundle.hider.know(secrets(each.get("config", {})))
        lists = {name: self._list(name) for name in _LISTS}
        for name, found in (("connectors", connectors), *lists.items()):
            if found or not any(f"/v1/{name}" in what for what, _ in self._bundle.missing):
                self._bundle.document(f"cluster/{name}.json", found)
        unwell = {str(each.get("connector", "")): each for each in lists["states"] if _state(each) not in _WELL}
        for name, each in unwell.items():
            self._bundle.see(f"connector {name} is {_state(each)}: {next(_traces(each), 'no trace')}")
        for worker in lists["workers"]:
            if not worker.get("alive"):
                self._bundle.see(f"worker {worker.get('workerId')} is gone")
        names = [str(each["name"]) for each in connectors if "name" in each]
        self._each([name for name in names if not self._only or name in self._only], unwell)

    def _each(self, names: Sequence[str], unwell: dict[str, Any]) -> None:
        for name in set(self._only) - set(names):
            self._bundle.miss(f"connector {name}", "there is none of this name, or it was not told")
        first = sorted(names, key=lambda name: (name not in unwell, name))
        for name in first[MOST_CONNECTORS:]:
            self._bundle.miss(f"connector {name}", f"{MOST_CONNECTORS} are asked for one by one; name it with --connector")
        for number, name in enumerate(first[:MOST_CONNECTORS], 1):
            self._tell(f"connector {number} of {len(first[:MOST_CONNECTORS])}: {name}")
            path, folder = f"/v1/connectors/{quote(name, safe='')}", f"connectors/{quote(name, safe=' ')}"
            for part, query in (("state", ""), ("logs", f"?pageSize={_LOG_LINES}"), ("positions", ""), ("changes", "?pageSize=50")):
                try:
                    answer = self._asking.get(f"{self._url}{path}/{part}{query}", shows_token=True).document()
                    self._bundle.document(f"{folder}/{part}.json", answer)
                except Unasked as error:
                    self._bundle.miss(f"{path}/{part}", str(error))

    def _list(self, name: str) -> list[dict[str, Any]]:
        """All items of a list; those that came before somebody stopped answering."""
        found: list[dict[str, Any]] = []
        token = ""
        try:
            for _ in range(_PAGES):
                path = f"/v1/{name}?pageSize=500&pageToken={quote(token, safe='')}"
                page = self._asking.get(self._url + path, shows_token=True).document()
                found += [each for each in page.get(name, []) if isinstance(each, dict)]
                if not (token := page.get("nextPageToken", "")):
                    return found
            self._bundle.miss(f"/v1/{name}", f"there are more than the {len(found)} that were asked for")
        except Unasked as error:
            self._bundle.miss(f"/v1/{name}", str(error))
        except (AttributeError, TypeError):
            self._bundle.miss(f"/v1/{name}", "it does not answer as RocketConnect does")
        return found


def _state(state: dict[str, Any]) -> str:
    return str(state.get("state", "")).removeprefix("STATE_")


def _traces(state: dict[str, Any]) -> Iterator[str]:
    """What is said of the state of a connector, the first lines of its traces."""
    for each in (state, *state.get("tasks", [])):
        if trace := str(each.get("trace", "")).strip():
            yield trace.splitlines()[0]
