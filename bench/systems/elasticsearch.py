"""An index of OpenSearch, whose library of its own adds more to the HTTP client than requests of ready lines take."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.elasticsearch.sink import ElasticsearchSink
from connectors.elasticsearch.source import ElasticsearchSource
from tests.servers.search.real import OpenSearch

_FULL, _TARGET = "full", "target"
_IN_A_REQUEST = 5_000
_PATIENCE = 60.0
_LINES = {"Content-Type": "application/x-ndjson"}
_SETTINGS = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1},
    # The server looks into no document, and leaves the processor to who is measured.
    "mappings": {"enabled": False},
}


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink, and the source by a point in time, until the end of the block."""
    with OpenSearch().running() as server, httpx.Client(base_url=server.url, timeout=_PATIENCE) as client:
        _make(client, _FULL)
        _send(client, _FULL, [_lines(number) for number in range(records)])
        client.post("/_refresh").raise_for_status()

        def found() -> Iterator[str | bytes]:
            client.post("/_refresh").raise_for_status()
            return map(moved.written, _pages(client, _TARGET))

        writing = {"url": server.url, "index": _TARGET}
        reading = {"url": server.url, "index": _FULL, "mode": "snapshot"}
        yield [
            Compared(
                "elasticsearch_sink",
                "httpx",
                lambda: sinking(ElasticsearchSink(), writing, records),
                lambda: _bulk(server.url, records),
                found,
                lambda: _make(client, _TARGET),
            ),
            Compared(
                "elasticsearch_source",
                "httpx",
                lambda: sourcing(ElasticsearchSource(), reading, records),
                lambda: _search(server.url),
            ),
        ]


@contextmanager
def _bulk(url: str, records: int) -> Iterator[Move]:
    lines = [_lines(number) for number in range(records)]
    with httpx.Client(base_url=url, timeout=_PATIENCE) as client:
        client.get("/").raise_for_status()

        def move() -> tuple[str, ...]:
            _send(client, _TARGET, lines)
            return ()

        yield move


@contextmanager
def _search(url: str) -> Iterator[Move]:
    with httpx.Client(base_url=url, timeout=_PATIENCE) as client:
        client.get("/").raise_for_status()

        def move() -> Iterator[str | bytes]:
            return map(moved.written, list(_pages(client, _FULL)))

        yield move


def _lines(number: int) -> str:
    return f'{{"index":{{"_id":"{moved.key(number)}"}}}}\n{moved.text(number)}\n'


def _send(client: httpx.Client, index: str, lines: list[str]) -> None:
    for begin in range(0, len(lines), _IN_A_REQUEST):
        body = "".join(lines[begin : begin + _IN_A_REQUEST])
        answer = client.post(f"/{index}/_bulk", content=body, headers=_LINES, params={"filter_path": "errors"})
        assert answer.raise_for_status().json() == {"errors": False}, answer.text


def _pages(client: httpx.Client, index: str) -> Iterator[Any]:
    """The documents, as they are at a point in time."""
    answer = client.post(f"/{index}/_search/point_in_time", params={"keep_alive": "1m"})
    asked = {"size": _IN_A_REQUEST, "pit": {"id": answer.raise_for_status().json()["pit_id"]}, "sort": ["_shard_doc"]}
    while hits := client.post("/_search", json=asked).raise_for_status().json()["hits"]["hits"]:
        yield from (hit["_source"] for hit in hits)
        asked["search_after"] = hits[-1]["sort"]
        if len(hits) < _IN_A_REQUEST:
            return


def _make(client: httpx.Client, index: str) -> None:
    client.delete(f"/{index}")
    client.put(f"/{index}", json=_SETTINGS).raise_for_status()
