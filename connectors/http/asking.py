"""Items of a service of the web, page by page."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from typing import Any, cast

from connectors.http.marks import NoMark, earlier, latest, mark_of, time_of, written
from connectors.http.paging import ElsewhereError, Paging, split_url
from connectors.http.paths import Missing, Path
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.cursors import Connection, Mark, Page, PageTooLarge, Session
from rocketconnect_sdk.errors import PermanentError, RecordError, SystemAway
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.http import Answer, AnswerTooLong, HttpClient
from rocketconnect_sdk.http.answers import problem_of
from rocketconnect_sdk.partitions.decoding import rejected
from rocketconnect_sdk.resume import JSON

_WAIT_SECONDS = 0.1
"""A poll waits no longer."""


class NoItems(SystemAway):
    """What answers has no list where the configuration says. It may be the error of a moment."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked for.

    Attributes:
        url: The first page.
        items: Where the items are in an answer.
        paging: How pages follow.
        field: Of an item, by which new ones are known; None: nothing says so.
        form: How the field is written: one of marks.FORMS.
        parameter: That says from which on items are wanted; empty: nothing says so, and older ones are left out here.
        begin: What it says where nothing was read.
        overlap: So far items may come late, in seconds, or in steps of a number.
        keys: Of an item; empty: records have no key.
        pause: Seconds between the beginnings of two requests at least.
    """

    url: str
    items: Path
    paging: Paging
    field: Path | None
    form: str
    parameter: str
    begin: str
    overlap: float
    keys: Sequence[Path]
    pause: float


class Service(Connection):
    """A service.

    Args:
        client: Asks its server.
        asking: What is asked for.
        stopping: Ends a wait.
    """

    ordered = False

    def __init__(self, client: HttpClient, asking: Asking, stopping: Event) -> None:
        self.asking = asking
        self._client = client
        self._stopping = stopping
        self._json = converter("json", {"schemas.enable": "false"}, is_key=False)
        self._next = 0.0

    def open(self, stream: str, since: Mark | None, token: JSON) -> Session:
        """See Connection."""
        del stream, token
        return Round(self, since)

    def earlier(self, stream: str, mark: Mark) -> Mark:
        """See Connection."""
        del stream
        return earlier(mark, self.asking.form, self.asking.overlap)

    def latest(self, stream: str) -> Mark | None:
        """See Connection."""
        del stream
        return latest(self.asking.form)

    def close(self) -> None:
        """See Connection."""
        self._client.close()

    def rests(self) -> bool:
        """Whether the next request has to wait for longer than a poll may."""
        wait = self._next - time.monotonic()
        if wait > 0:
            self._stopping.wait(min(wait, _WAIT_SECONDS))
        return wait > _WAIT_SECONDS

    def ask(self, url: str, more: Mapping[str, str]) -> tuple[Any, Answer]:
        """The body of an answer as JSON; None where there is none.

        Raises:
            SystemAway, PermanentError: there is none, or it is none.
            PageTooLarge: it is too long.
        """
        _, path, parameters = split_url(url)
        asked: dict[str, str | list[str]] = {name: texts if len(texts) > 1 else texts[0] for name, texts in parameters.items()}
        asked |= more
        self._next = time.monotonic() + self.asking.pause
        try:
            # A name may stand there more than once.
            answer = get(self._client, path, cast("Mapping[str, str]", asked))
        except SystemAway as error:
            if isinstance(error.__cause__, AnswerTooLong):
                msg = f"a page is {error.__cause__}: ask for fewer items (page.size), or raise response.bytes"
                raise PageTooLarge(msg) from error
            raise
        if not answer.is_good:
            raise problem_of(answer, self.asking.url, self._client.hidden(answer.said()), datetime.now(UTC))
        if not answer.body.strip():
            return None, answer
        try:
            return self._json.decode(answer.body)[0], answer
        except RecordError as error:
            said = self._client.hidden(answer.said())
            msg = f"{self.asking.url} answers with what is no JSON that can be read ({error}): {said}"
            raise NoItems(msg) from None

    def items_of(self, body: Any) -> list[Any]:
        """The items of a body.

        Raises:
            NoItems: there is no list.
        """
        if body is None:
            return []
        try:
            found = self.asking.items.of(body)
        except Missing as error:
            msg = f"{self.asking.url}: {error} (items)"
            raise NoItems(msg) from None
        if found is None:
            return []
        if not isinstance(found, list):
            msg = f"{self.asking.url}: what is at {self.asking.items.text or '$'} is no list (items)"
            raise NoItems(msg)
        return found


class Round(Session):
    """One reading of all pages."""

    def __init__(self, service: Service, since: Mark | None) -> None:
        self._service = service
        self._since = since

    def page(self, cursor: JSON, limit: int) -> Page:
        """See Session."""
        service, asking = self._service, self._service.asking
        paging = asking.paging
        if service.rests():
            return Page([], next=cursor, more=True)
        is_link = isinstance(cursor, str) and cursor.startswith(("http://", "https://")) and paging.form in ("link", "url")
        url = cursor if is_link and isinstance(cursor, str) else asking.url
        try:
            body, answer = service.ask(url, {} if is_link else {**paging.query(cursor, limit), **self._wanted()})
        except PageTooLarge as error:
            if not paging.size_parameter or paging.form == "number":
                raise PermanentError(str(error)) from error
            raise
        items = service.items_of(body)
        try:
            behind = paging.behind(cursor, url, body, items, answer.headers)
        except ElsewhereError as error:
            msg = f"{asking.url}: the next page is at another server, {error}, which must not see who we are. Give its URL"
            raise PermanentError(msg) from None
        more = paging.has_more(behind, body, items, limit)
        if more and behind == cursor:
            msg = f"{asking.url}: the page behind a page is that page again: look at pages.path, and whether items have an order"
            raise PermanentError(msg)
        if not more and paging.goes_on and behind is None:
            if items:
                msg = f"{asking.url}: the last page has no cursor, so nobody knows where mode=append goes on. Set mode=incrementing"
                raise PermanentError(msg)
            behind = cursor
        return self._page(items, behind if more or paging.goes_on else None, len(answer.body), more=more)

    def _wanted(self) -> Mapping[str, str]:
        asking = self._service.asking
        if not asking.parameter:
            return {}
        text = asking.begin if self._since is None else written(self._since, asking.form)
        return {asking.parameter: text} if text else {}

    def _page(self, items: Sequence[Any], behind: JSON, size: int, *, more: bool) -> Page:
        asking, since = self._service.asking, cast("Any", self._since)
        values: list[object] = list(items)
        marks: list[Any] | None = None
        if asking.field is not None:
            found = [_marked(item, asking.field, asking.form) for item in items]
            # A service may give more than it was asked for, and one that can't be asked gives all.
            kept = [place for place, (mark, _) in enumerate(found) if mark is None or since is None or mark >= since]
            items, values, marks = [items[at] for at in kept], [found[at][1] for at in kept], [found[at][0] for at in kept]
        return Page(
            values,
            next=behind,
            more=more,
            size=size,
            marks=marks,
            ids=None if marks is None else [to_json(item).decode() for item in items],
            keys=[_key(item, asking.keys) for item in items] if asking.keys else None,
            timestamps_ms=None if marks is None else [None if mark is None else time_of(mark, asking.form) for mark in marks],
        )


def get(client: HttpClient, path: str, parameters: Mapping[str, str]) -> Answer:
    """One request. Every item comes through here. Raises as HttpClient.ask."""
    return client.ask("GET", path, headers={"Accept": "application/json"}, parameters=parameters)


def _marked(item: Any, field: Path, form: str) -> tuple[Mark | None, object]:
    """What an item is compared by, and itself; a Rejected where it can't be."""
    try:
        return mark_of(field.of(item), form), item
    except (Missing, NoMark) as error:
        reason = f"{error}: by {field.text} new items are known (incrementing.field)"
        return None, rejected("NoMark", reason, to_json(item))


def _key(item: Any, keys: Sequence[Path]) -> str | None:
    found = [key.get(item) for key in keys]
    if len(found) == 1 or all(each is None for each in found):
        value = found[0]
        return value if value is None or isinstance(value, str) else to_json(value).decode()
    return to_json({key.text: value for key, value in zip(keys, found, strict=True)}).decode()
