"""What every source of pages must do, with each form of pages."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from connectors.http.source import HttpSource
from rocketconnect_sdk.conformance.cursor import CursorCase, CursorSuite
from tests.servers.http_api import Service

NEWER = {"mode": "incrementing", "incrementing.field": "at", "incrementing.parameter": "since", "overlap": "30s"}
SIZE = {"page.size.parameter": "limit", "page.size": "4"}
FORMS: Mapping[str, Mapping[str, str]] = {
    "cursor": {"pages": "cursor", "pages.path": "next", "items": "data.items", **NEWER},
    "link": {"pages": "link", **NEWER, **SIZE},
    "url": {"pages": "url", "pages.path": '["@odata.nextLink"]', "items": "value", **NEWER},
    "offset": {"pages": "offset", **NEWER, **SIZE},
    "number": {"pages": "number", **NEWER, **SIZE},
    "all": {**NEWER, "incrementing.parameter": ""},
    "last": {"pages": "last", "pages.path": "id", "pages.more": "has_more", "items": "data", "mode": "append"},
    "feed": {"pages": "cursor", "pages.path": "next", "pages.more": "has_more", "items": "items", "mode": "append"},
}
FAST = ("cursor", "feed")
SLOW = [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in FORMS]


def text_of(value: Any) -> str:
    return str(value["text"])


@pytest.fixture
def service() -> Iterator[Service]:
    with Service.running() as server:
        yield server


class TestHttp(CursorSuite):
    @pytest.fixture(params=SLOW)
    def case(self, service: Service, request: pytest.FixtureRequest) -> CursorCase:
        form = request.param
        config = {"url": f"{service.url}/{form}", "poll.interval": "10ms", **FORMS[form]}
        late = service.add_late if "overlap" in config else None
        calls = ("connectors.http.asking:get",)
        return CursorCase(HttpSource(), config, service.add, text_of, late, calls=calls, every=5)
