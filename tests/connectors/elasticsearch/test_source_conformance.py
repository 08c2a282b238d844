"""What every source of pages must do: against the stand-in, and against the real servers, where it is killed at each step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx
import pytest

from connectors.elasticsearch.source import ElasticsearchSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.conformance.cursor import CursorCase, CursorSuite
from tests.servers.search.real import Elasticsearch, OpenSearch, SearchServer
from tests.servers.search.standin import StandIn

_NAMES = count()
_CALLS = ("connectors.elasticsearch.searching:search",)
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
Put = Callable[[str, Sequence[Mapping[str, Any]]], None]


class Index:
    """An index whose documents have times, one second after the other.

    Args:
        put: Writes documents into an index, so that they can be read.
    """

    def __init__(self, put: Put) -> None:
        self.name = f"read-{next(_NAMES)}"
        self._put = put
        self._seconds = count(100)
        self._newest = 0

    def add(self, texts: Sequence[str]) -> None:
        self._newest += len(texts)
        self._put(self.name, [self._document(text, next(self._seconds)) for text in texts])

    def add_late(self, texts: Sequence[str]) -> None:
        self._put(self.name, [self._document(text, 98 + self._newest - 0.5) for text in texts])

    @staticmethod
    def _document(text: str, seconds: float) -> Mapping[str, Any]:
        return {"text": text, "at": (_BEGIN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")}


def text_of(value: Any) -> str:
    return str(value["text"])


def config_of(url: str, index: str, **options: str) -> dict[str, str]:
    given = {"poll.interval": "10ms", "incrementing.field": "at", "overlap": "30s"}
    return {"url": url, "index": index, **given, **{name.replace("_", "."): text for name, text in options.items()}}


class TestStandIn(CursorSuite):
    @pytest.fixture
    def case(self, standin: StandIn) -> CursorCase:
        def put(name: str, documents: Sequence[Mapping[str, Any]]) -> None:
            for each in documents:
                standin.apply("index", {"_index": name}, each)

        standin.pages.kinds["at"] = "date"
        index = Index(put)
        config = config_of(standin.url, index.name)
        lose = standin.pages.points.clear
        return CursorCase(
            ElasticsearchSource(), config, index.add, text_of, index.add_late, lose, stable=True, calls=_CALLS, every=4
        )


class TestSnapshot(SourceSuite):
    @pytest.fixture
    def case(self, standin: StandIn) -> SourceCase:
        for number in range(25):
            standin.apply("index", {"_index": f"all-{number % 2}", "_id": str(number)}, {"n": number})
        expected = [{"n": number} for number in range(25)]
        config = {"url": standin.url, "index": "all-*", "mode": "snapshot"}
        return SourceCase(ElasticsearchSource(), config, expected)


class _Real(CursorSuite):
    server: type[SearchServer]
    points: str
    options: Mapping[str, str] = {}

    @pytest.fixture(scope="class")
    @classmethod
    def url(cls) -> Iterator[str]:
        with cls.server().running() as server:
            yield server.url

    @pytest.fixture
    def case(self, url: str) -> Iterator[CursorCase]:
        with httpx.Client(base_url=url, timeout=120) as client:

            def put(name: str, documents: Sequence[Mapping[str, Any]]) -> None:
                for each in documents:
                    client.post(f"/{name}/_doc", json=each).raise_for_status()
                client.post(f"/{name}/_refresh").raise_for_status()

            index = Index(put)
            mapping = {"at": {"type": "date_nanos"}, "text": {"type": "keyword"}}
            settings = {"number_of_shards": 2, "number_of_replicas": 0}
            client.put(f"/{index.name}", json={"mappings": {"properties": mapping}, "settings": settings}).raise_for_status()
            config = config_of(url, index.name, **self.options)
            yield CursorCase(
                ElasticsearchSource(),
                config,
                index.add,
                text_of,
                index.add_late,
                self.lose(client),
                stable=True,
                calls=_CALLS,
                every=3,
            )

    def lose(self, client: httpx.Client) -> Callable[[], None] | None:
        raise NotImplementedError


@pytest.mark.slow
class TestOpenSearch(_Real):
    server = OpenSearch

    def lose(self, client: httpx.Client) -> Callable[[], None]:
        def lose() -> None:
            client.delete("/_search/point_in_time/_all").raise_for_status()

        return lose


@pytest.mark.slow
class TestElasticsearch(_Real):
    server = Elasticsearch
    options: Mapping[str, str] = {"rows": "mapping"}

    def lose(self, client: httpx.Client) -> None:
        """It has no request that ends all of them."""
