"""How the pages of a list follow each other. Pure.

https://www.rfc-editor.org/rfc/rfc8288 (links)
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from connectors.http.paths import Path
from rocketconnect_sdk.resume import JSON

NONE, CURSOR, LAST, LINK, URL, OFFSET, NUMBER = "none", "cursor", "last", "link", "url", "offset", "number"
FORMS = (NONE, CURSOR, LAST, LINK, URL, OFFSET, NUMBER)
GO_ON = (CURSOR, LAST, OFFSET)
"""Those whose last cursor is where what comes later is found."""
_LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]*))?)*)')
_RELATION = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))', re.IGNORECASE)


class ElsewhereError(Exception):
    """A link leads to another server, which must not see who we are. The text is that server."""


@dataclass(frozen=True, slots=True)
class Paging:
    """How pages follow.

    Attributes:
        form: One of FORMS.
        parameter: That says which page is wanted.
        path: Of the cursor in the body; with `last` in the last item.
        more: Of what says whether there are more; None: nothing does.
        first: The number of the first page.
        size_parameter: That says how many items a page has; empty: the server knows.
        size: So many items a page has at most.
        goes_on: The next round goes on behind the last page.
    """

    form: str
    parameter: str
    path: Path
    more: Path | None
    first: int
    size_parameter: str
    size: int
    goes_on: bool

    def query(self, cursor: JSON, limit: int) -> Mapping[str, str]:
        """The parameters of the page behind a cursor, beside those of the URL; for links those of the link are."""
        asked = {self.size_parameter: str(self.size_of(limit))} if self.size_parameter else {}
        if self.form in (OFFSET, NUMBER):
            begin = cursor if isinstance(cursor, int) else self.first if self.form == NUMBER else 0
            return {**asked, self.parameter: str(begin)}
        return {**asked, self.parameter: str(cursor)} if self.form in (CURSOR, LAST) and cursor is not None else asked

    def size_of(self, limit: int) -> int:
        """So many items are asked for. Numbers of pages mean something only where all pages are of one size."""
        return self.size if self.form == NUMBER else min(limit, self.size)

    def behind(self, cursor: JSON, url: str, body: Any, items: Sequence[Any], headers: Mapping[str, str]) -> JSON:
        """The cursor behind a page; None: there is none.

        Raises:
            ElsewhereError: see there.
        """
        if self.form in (LINK, URL):
            target = next_link(headers.get("link", "")) if self.form == LINK else self.path.get(body)
            return _same_server(url, target) if target and isinstance(target, str) else None
        if self.form == CURSOR:
            found = self.path.get(body)
            return found if isinstance(found, str | int) and not isinstance(found, bool) and found != "" else None
        if self.form == LAST:
            found = self.path.get(items[-1]) if items else cursor
            return found if isinstance(found, str | int) else None
        if self.form == OFFSET:
            return (cursor if isinstance(cursor, int) else 0) + len(items)
        if self.form == NUMBER:
            return (cursor if isinstance(cursor, int) else self.first) + 1
        return None

    def has_more(self, behind: JSON, body: Any, items: Sequence[Any], limit: int) -> bool:
        """Whether there is a page behind this one."""
        if behind is None:
            return False
        if self.more is not None:
            return bool(self.more.get(body))
        if self.form in (LAST, OFFSET, NUMBER):
            return len(items) >= self.size_of(limit) if self.size_parameter else bool(items)
        return True


def next_link(header: str) -> str:
    """The target of the relation `next`; empty: there is none."""
    for target, parameters in _LINK.findall(header):
        if any("next" in (quoted or plain).lower().split() for quoted, plain in _RELATION.findall(parameters)):
            return str(target)
    return ""


def split_url(url: str) -> tuple[str, str, dict[str, list[str]]]:
    """The server, the path, and the parameters of a URL."""
    parts = urlsplit(url)
    parameters: dict[str, list[str]] = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        parameters.setdefault(name, []).append(text)
    return f"{parts.scheme}://{parts.netloc}", parts.path or "/", parameters


def _same_server(url: str, target: str) -> str:
    found = urljoin(url, target)
    if split_url(found)[0].lower() != split_url(url)[0].lower():
        raise ElsewhereError(split_url(found)[0])
    return found
