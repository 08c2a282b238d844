"""A core of Solr."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from bench.systems import moved
from bench.systems.driving import sinking
from bench.systems.system import Compared, Move
from connectors.solr.sink import SolrSink
from tests.servers.solr.real import Solr

_IN_A_REQUEST = 1_000
"""As many as the sink has in one."""
_PATIENCE = 60.0
_JSON = {"Content-Type": "application/json"}
_SAFE = {"commit": "true", "openSearcher": "false"}


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink, until the end of the block."""
    with Solr().running() as server:
        core = f"{server.url}/solr/{server.make('orders')}"
        config = {"url": server.url, "collection": "orders", "id": "${value.id}"}
        yield [
            Compared(
                "solr_sink",
                "httpx",
                lambda: sinking(SolrSink(), config, records),
                lambda: _post(core, records),
                lambda: _found(core, records),
                lambda: _empty(core),
            )
        ]


@contextmanager
def _post(core: str, records: int) -> Iterator[Move]:
    texts = [moved.text(number) for number in range(records)]
    with httpx.Client(timeout=_PATIENCE) as client:
        client.get(f"{core}/select", params={"q": "*:*", "rows": "0"}).raise_for_status()

        def move() -> tuple[str, ...]:
            for begin in range(0, records, _IN_A_REQUEST):
                body = f"[{','.join(texts[begin : begin + _IN_A_REQUEST])}]"
                client.post(f"{core}/update", content=body, headers=_JSON, params=_SAFE).raise_for_status()
            return ()

        yield move


def _found(core: str, records: int) -> Iterator[str]:
    """What was moved, of which the schema has made the id a text."""
    httpx.get(f"{core}/update", params={"commit": "true"}, timeout=_PATIENCE).raise_for_status()
    asked = {"q": "*:*", "fl": "id,note", "rows": str(2 * records)}
    answer = httpx.get(f"{core}/select", params=asked, timeout=_PATIENCE).raise_for_status()
    return (f'{{"id":{each["id"]},"note":"{each["note"]}"}}' for each in answer.json()["response"]["docs"])


def _empty(core: str) -> None:
    body = '{"delete":{"query":"*:*"}}'
    httpx.post(f"{core}/update", content=body, headers=_JSON, params={"commit": "true"}, timeout=_PATIENCE).raise_for_status()
