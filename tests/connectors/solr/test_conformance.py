"""What every sink must do: against the stand-in, and against the real server, where it is killed at each step."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import pytest

from connectors.solr.sink import SolrSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.write import WriteSuite
from tests.servers.solr.real import Solr
from tests.servers.solr.standin import StandIn

_NAMES = count()
_CALLS = ("connectors.solr.connection:update",)


def _value(queue: int, offset: int) -> object:
    return {"queue": queue, "offset": offset, "text": f"{queue}:{offset:06d} ünï"}


def _case(url: str, name: str, documents: Callable[[str], Mapping[str, Any]], **options: str) -> SinkCase:
    config = {"url": url, "collection": name, "id": "${queue}-${offset}", "request.bytes": "64KiB"} | options

    def read() -> list[object]:
        found: list[Any] = [{key: value for key, value in each.items() if key != "id"} for each in documents(name).values()]
        return sorted(found, key=lambda value: (value["queue"], value["offset"]))

    keyed = {"id": "${key}", "delete.enabled": "true"}
    return SinkCase(SolrSink(), config, read, value=_value, schema=None, calls=_CALLS, keyed=keyed)


class TestStandIn(SinkSuite, WriteSuite):
    @pytest.fixture
    def case(self, standin: StandIn) -> SinkCase:
        return _case(standin.url, f"orders-{next(_NAMES)}", standin.documents)

    @pytest.mark.slow
    def test_a_large_batch_is_there_and_in_order(self, case: SinkCase) -> None:
        """It takes seconds to make, and shows nothing of a stand-in that others do not."""
        super().test_a_large_batch_is_there_and_in_order(case)


@pytest.mark.slow
class TestSolr(SinkSuite):
    @pytest.fixture(params=["replace", "update", "create"])
    def case(self, request: pytest.FixtureRequest, solr: Solr) -> SinkCase:
        return _case(solr.url, solr.make(f"all-{next(_NAMES)}"), solr.documents, **{"write.method": request.param})
