"""Where the stores of the services are: files of SQLite, or databases of PostgreSQL. Pure but for looking at files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_kit.store import urls

ORDER = ("position", "config", "cluster", "state")
"""In which they are read where they can't be read at one point.

Positions first: none is then of a configuration that is newer than the one beside it, so nothing counts as read that this
configuration has not read. What the others have seen since is above what the positions know, as it is after any restart.
"""
_HOW = "write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"


@dataclass(frozen=True, slots=True)
class StoreEndpoint:
    """One file or database, with the services whose tables are in it.

    Attributes:
        url: May hold a password.
        services: In the order of ORDER.
    """

    url: str
    services: tuple[str, ...]

    @property
    def file(self) -> Path | None:
        """Of SQLite; None: PostgreSQL."""
        url = urls.parsed(self.url)
        return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None

    def __str__(self) -> str:
        """For people, without a password."""
        return str(self.file or urls.parsed(self.url).render_as_string(hide_password=True))


def places(data: Path, store_url: str, own: Sequence[str], services: Sequence[str]) -> list[StoreEndpoint]:
    """Return where the stores of these services are.

    Args:
        data: The folder of files of SQLite, where nothing else is said.
        store_url: Where all of them are; empty: in `data`.
        own: Where one of them is, "SERVICE=URL".
        services: Those that are asked for.

    Raises:
        ApiError: WRONG, with all that is wrong; no URL is repeated.
    """
    urls = {service: store_url or f"sqlite:///{data / service}.db" for service in services}
    problems = []
    for text in own:
        service, _, url = text.partition("=")
        if service not in ORDER or not url:
            problems.append(f"--store: write SERVICE=URL, with one of {', '.join(ORDER)} as SERVICE")
        elif service in urls:
            urls[service] = url
    by_url: dict[str, list[str]] = {}
    for service in sorted(services, key=ORDER.index):
        try:
            by_url.setdefault(_normal(urls[service]), []).append(service)
        except ValueError as error:
            problems.append(f"the store of {service}: {error}")
    if problems:
        raise ApiError(Exit.WRONG, {"detail": "; ".join(dict.fromkeys(problems))})
    return [StoreEndpoint(url, tuple(held)) for url, held in by_url.items()]


def chosen(only: Sequence[str], known: Mapping[str, object] | Sequence[str], where: str) -> tuple[str, ...]:
    """Return the services that are asked for, all of `known` unless some are named.

    Raises:
        ApiError: WRONG: one that is named is not known.
    """
    if unknown := [service for service in only if service not in known]:
        message = f"--only {unknown[0]}: {where} no store of that name; give one of {', '.join(sorted(known, key=ORDER.index))}"
        raise ApiError(Exit.WRONG, {"detail": message})
    return tuple(service for service in ORDER if service in (only or known))


def _normal(text: str) -> str:
    try:
        url = urls.parsed(text)
    except ValueError:
        msg = f"its URL is none; {_HOW}"
        raise ValueError(msg) from None
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database not in {None, "", ":memory:"}:
        return f"sqlite:///{Path(str(url.database)).absolute()}"
    if backend in {"postgresql", "postgres"}:
        return url.render_as_string(hide_password=False)
    msg = f"{backend!r} is not a store; {_HOW}"
    raise ValueError(msg)
