"""What every sink must do: against the stand-in, and against the real servers, where it is killed at each step."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx
import pytest

from connectors.elasticsearch.mapping import mapping_of
from connectors.elasticsearch.sink import ElasticsearchSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.write import WriteSuite
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.schema import STRING, Schema, Type, Unit, struct
from rocketconnect_sdk.sink import Guarantee
from tests.connectors.elasticsearch.driven import TYPED, TYPED_DOCUMENT, TYPED_ROW, Run
from tests.servers.search.real import Elasticsearch, OpenSearch, SearchServer
from tests.servers.search.standin import StandIn

_NAMES = count()
_CALLS = ("connectors.elasticsearch.connection:bulk",)


def _value(queue: int, offset: int) -> object:
    return {"queue": queue, "offset": offset, "text": f"{queue}:{offset:06d} ünï"}


def _case(url: str, documents: Callable[[str], Mapping[str, Any]], sink: ElasticsearchSink, **options: str) -> SinkCase:
    index = f"orders-{next(_NAMES)}"
    config = {"url": url, "index": index, "id": "${queue}-${offset}", "request.bytes": "64KiB"} | options

    def read() -> list[object]:
        return sorted(documents(index).values(), key=lambda value: (value["queue"], value["offset"]))

    keyed = {"id": "${key}", "delete.enabled": "true"}
    return SinkCase(sink, config, read, value=_value, schema=None, calls=_CALLS, keyed=keyed)


class AppendingSink(ElasticsearchSink):
    __doc__ = ElasticsearchSink.__doc__
    guarantee = Guarantee.AT_LEAST_ONCE


class TestStandIn(SinkSuite, WriteSuite):
    @pytest.fixture
    def case(self, standin: StandIn) -> SinkCase:
        return _case(standin.url, standin.documents, ElasticsearchSink())


def _all(url: str, index: str) -> dict[str, Any]:
    """All documents of an index, or of a data stream."""
    found: dict[str, Any] = {}
    with httpx.Client(base_url=url, timeout=120) as client:
        client.post(f"/{index}/_refresh")
        answer = client.post(f"/{index}/_search?scroll=1m&size=10000", json={"sort": ["_doc"]}).json()
        while answer.get("hits", {}).get("hits"):
            found |= {hit["_id"]: hit["_source"] for hit in answer["hits"]["hits"]}
            answer = client.post("/_search/scroll", json={"scroll": "1m", "scroll_id": answer["_scroll_id"]}).json()
        if "_scroll_id" in answer:
            client.request("DELETE", "/_search/scroll", json={"scroll_id": answer["_scroll_id"]})
    return found


class _Real(SinkSuite):
    server: type[SearchServer]

    @pytest.fixture(scope="class")
    @classmethod
    def url(cls) -> Iterator[str]:
        with cls.server().running() as server:
            yield server.url

    @pytest.fixture
    def case(self, url: str) -> SinkCase:
        return _case(url, lambda index: _all(url, index), ElasticsearchSink())


@pytest.mark.slow
class TestOpenSearch(_Real):
    server = OpenSearch

    @pytest.fixture(params=["index", "create", "upsert", "append"])
    def case(self, request: pytest.FixtureRequest, url: str) -> SinkCase:
        options = {"id": ""} if request.param == "append" else {"method": request.param}
        sink = AppendingSink() if request.param == "append" else ElasticsearchSink()
        return _case(url, lambda index: _all(url, index), sink, **options)

    def test_what_a_server_has_taken_survives_its_death_and_a_batch_that_it_had_not_is_written_later(self) -> None:
        with OpenSearch().running() as server:
            run = Run(server.url, index="kept", id="${offset}")
            assert run.write([{"n": number} for number in range(5_000)]) == {}
            server.kill()
            with pytest.raises(SystemAway, match="does not answer"):
                run.write([{"n": 5_000}])
            server.start()
            assert run.write([{"n": 5_000}]) == {}
            assert sorted(each["n"] for each in _all(server.url, "kept").values()) == list(range(5_001))

    def test_data_streams_take_what_is_created(self, url: str) -> None:
        template = {"index_patterns": ["logs-*"], "data_stream": {}}
        httpx.put(f"{url}/_index_template/logs", json=template, timeout=60).raise_for_status()
        run = Run(url, index="logs-${value.app}", id="", method="create")
        line = {"app": "shop", "@timestamp": "2026-01-01T00:00:00Z"}
        refused = run.write([line, {"app": "shop"}, line])
        assert list(refused) == [1]
        assert "must contain a single-valued timestamp field" in refused[1]
        assert list(_all(url, "logs-shop").values()) == [line, line]
        assert "only write ops with an op_type of create" in Run(url, index="logs-shop", id="${offset}").write([line])[0]
        row = struct([("app", STRING), ("@timestamp", Schema(Type.TIMESTAMP, unit=Unit.MILLISECONDS, zone=True))])
        made = Run(url, index="logs-other", id="", method="create", index_create="schema")
        with pytest.raises(PermanentError, match=r"creates data streams only.*index\.create=server"):
            made.write([{"app": "a", "@timestamp": datetime(2026, 1, 1, tzinfo=UTC)}], schema=row)

    def test_an_index_that_is_made_of_a_schema_takes_its_rows_and_has_its_types(self, url: str) -> None:
        run = Run(url, index="typed", id="${key}", index_create="schema", index_settings='{"number_of_replicas": 0}')
        assert run.write([TYPED_ROW], ["k"], schema=TYPED) == {}
        mapping = httpx.get(f"{url}/typed/_mapping", timeout=60).json()["typed"]["mappings"]
        assert mapping == mapping_of(TYPED)
        assert _all(url, "typed") == {"k": TYPED_DOCUMENT}

    def test_a_document_that_is_too_large_is_refused_alone(self, url: str) -> None:
        run = Run(url, index="large", id="${offset}", request_bytes="64MiB")
        refused = run.write([{"t": "a" * 3_000_000}] * 3 + [{"t": "b" * 9_000_000}] + [{"t": "c"}])
        assert list(refused) == [3]
        assert "is too large (http.max_content_length)" in refused[3]
        assert len(_all(url, "large")) == 4

    def test_a_mapping_that_refuses_one_document_of_10000_refuses_that_one(self, url: str) -> None:
        run = Run(url, index="one", id="${offset}")
        refused = run.write([{"n": 1}] * 6_000 + [{"n": "many"}] + [{"n": 2}] * 3_999)
        assert list(refused) == [6_000]
        assert "failed to parse field [n] of type [long]" in refused[6_000]
        assert len(_all(url, "one")) == 9_999


@pytest.mark.slow
class TestElasticsearch(_Real):
    server = Elasticsearch
