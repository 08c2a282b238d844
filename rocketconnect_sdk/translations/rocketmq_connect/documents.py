"""Documents of Elasticsearch."""

import json
from collections.abc import Mapping

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE
from rocketconnect_sdk.translations.tables import Table

_SHARDS = "primaryShards"
_FIX = 'Write {"INDEX": {"FIELD": 0}}, and one connector for each field.'


def _server(draft: Draft) -> None:
    draft.address("http", "elasticsearchHost", "elasticsearchPort")


def _source(draft: Draft) -> None:
    """The index, the field that grows, and where it begins, which are one JSON object there."""
    _server(draft)
    text = draft.peek("index")
    if not text.startswith("{"):
        return
    draft.take("index")
    found = indexes(text)
    if found is None:
        draft.refuse("index", "is no JSON object of indexes with the field that grows and its first value", _FIX)
        return
    first, *others = found.values()
    if len(first) != 1 or any(each != first for each in others):
        draft.refuse("index", "has indexes that are read by other fields, or from other values", _FIX)
        return
    ((field, begin),) = first.items()
    draft.set("index", ",".join(found), "index")
    draft.set("incrementing.field", field, "index")
    draft.set("query", json.dumps({"range": {field: {"gte": begin}}}), "index")


def indexes(text: str) -> Mapping[str, Mapping[str, object]] | None:
    """By index the field that grows, with the value that it is read from; None: the text is no such object."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or not value or not all(isinstance(each, dict) for each in value.values()):
        return None
    return {name: {key: first for key, first in each.items() if key != _SHARDS} for name, each in value.items()}


_CLASS = f"{PACKAGE}elasticsearch.connector.Elasticsearch"

TABLES = (
    Table("elasticsearch_source", (f"{_CLASS}SourceConnector",), {}, _source),
    # There the server makes the ids.
    Table("elasticsearch_sink", (f"{_CLASS}SinkConnector",), {}, _server, {"id": ""}),
)
