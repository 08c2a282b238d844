"""Documents of indexes of Elasticsearch and OpenSearch into a topic."""

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from connectors.elasticsearch.bulk import settings_problem
from connectors.elasticsearch.client import SERVERS, client_of, server_problems
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors import DISCOVER_INTERVAL, POLL_INTERVAL, Connection, CursorSource, Stream, StreamGone
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.http import HttpClient, login_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin

if TYPE_CHECKING:
    from connectors.elasticsearch.searching import Reading

_NEVER = ' "\\<|>/?#'
_INCREMENTING, _SNAPSHOT = "incrementing", "snapshot"
_JSON, _MAPPING = "json", "mapping"
_LOOKED_AT = 100
"""So many indexes are looked at with a configuration."""


def _names_problem(names: Sequence[str]) -> str | None:
    if not names:
        return "names no index"
    wrong = next((name for name in names if set(name) & set(_NEVER)), None)
    return None if wrong is None else f"has {wrong[:100]!r}, which is no name of an index"


class ElasticsearchSource(CursorSource):
    """Reads documents of Elasticsearch and OpenSearch: new ones by a field that grows, or all of them, at least once."""

    name = "elasticsearch_source"
    options = (
        *SERVERS,
        Option(
            "index",
            "The indexes: names, aliases, data streams and patterns such as logs-*, separated by commas; -logs-old leaves one out.",
            Kind.LIST,
            required=True,
            check=_names_problem,
            fix="Name indexes, such as orders, or logs-*.",
            example="orders",
        ),
        Option(
            "mode",
            "incrementing: all documents, and again and again those that are newer by incrementing.field. snapshot: all documents "
            "as they are at one point in time, without an order.",
            default=_INCREMENTING,
            choices=(_INCREMENTING, _SNAPSHOT),
        ),
        Option(
            "incrementing.field",
            "The field that grows with each new or changed document: dates, numbers or keywords, such as @timestamp. Documents "
            "without it are not read.",
            default="",
            example="updated_at",
        ),
        Option(
            "overlap",
            "How far behind the newest read document another one may still arrive: a time such as 30s for a field of "
            "dates, how much less for a field of numbers. Default: 10s for dates, else 0.",
            Kind.DURATION,
            minimum=0,
        ),
        POLL_INTERVAL,
        Option(
            "snapshot.interval",
            "With mode=snapshot: so long after the beginning of one reading of all documents the next one begins. 0s: they are "
            "read once.",
            Kind.DURATION,
            "0s",
            minimum=0,
        ),
        Option(
            DISCOVER_INTERVAL.key,
            "How often it looks for new indexes.",
            Kind.DURATION,
            DISCOVER_INTERVAL.default,
            minimum=DISCOVER_INTERVAL.minimum,
            maximum=DISCOVER_INTERVAL.maximum,
        ),
        Option(
            "query",
            'Only documents that match it are read: a query as a JSON object, such as {"term": {"state": "paid"}}.',
            default="",
            check=settings_problem,
            fix='Write a JSON object, such as {"term": {"state": "paid"}}.',
        ),
        Option(
            "fields",
            "The only fields that are read, separated by commas, or patterns such as user.*. Empty: all.",
            Kind.LIST,
            "",
        ),
        Option(
            "rows",
            "json: values are JSON objects, as documents are. mapping: they are rows with the types that the mapping of the index "
            "says; a document with something else in it is a bad record.",
            default=_JSON,
            choices=(_JSON, _MAPPING),
        ),
        Option(
            "pit.keep.alive",
            "How long the server keeps a point in time that nobody reads. A task that is away for longer begins another one.",
            Kind.DURATION,
            "5m",
            minimum=1,
            maximum=86_400,
        ),
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See CursorSource."""
        return run_checks(config, login_problems, _problems, _server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The indexes. See Source."""
        place = ",".join(sorted(url.rstrip("/").lower() for url in config["url"]))
        names = [name for name in config["index"] if not name.startswith("-")]
        without = tuple(name[1:] for name in config["index"] if name.startswith("-"))
        return [Origin("index", place, name, is_pattern="*" in name, without=without if "*" in name else ()) for name in names]

    def streams(self, config: Config) -> Sequence[Stream]:
        """See CursorSource."""
        from connectors.elasticsearch.searching import SearchPages

        with closing(SearchPages(client_of(config), _reading(config))) as pages:
            return pages.streams(config["index"])

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See CursorSource."""
        from connectors.elasticsearch.searching import SearchPages

        del context
        return SearchPages(client_of(config), _reading(config))

    def interval(self, config: Config) -> float:
        """See CursorSource."""
        return float(config["poll.interval" if config["mode"] == _INCREMENTING else "snapshot.interval"])


def _reading(config: Config) -> "Reading":
    from connectors.elasticsearch.searching import Reading

    return Reading(
        config["incrementing.field"] if config["mode"] == _INCREMENTING else "",
        config["overlap"],
        json.loads(config["query"] or "{}"),
        config["fields"],
        config["rows"] == _MAPPING,
        config["pit.keep.alive"],
    )


def _problems(config: Config) -> Iterable[Problem]:
    if config["mode"] == _INCREMENTING:
        if not config["incrementing.field"]:
            fix = "Name a field of dates or numbers, or set mode=snapshot."
            yield Problem("incrementing.field", "", "is missing, and mode=incrementing needs it", fix)
        return
    for key in ("incrementing.field", "overlap"):
        if config[key]:
            yield Problem(key, str(config.raw[key]), "means nothing with mode=snapshot", "Remove it, or set mode=incrementing.")


def _server_problems(config: Config) -> Iterable[Problem]:
    return server_problems(config, lambda client: _index_problems(config, client))


def _index_problems(config: Config, client: HttpClient) -> Iterable[Problem]:
    from connectors.elasticsearch.searching import SearchPages

    reading = _reading(config)
    pages, shown = SearchPages(client, reading), ",".join(config["index"])
    try:
        found = pages.streams(config["index"])
    except SystemAway as error:
        yield Problem("index", shown, str(error), "Correct the name, or wait: it is read when it is there.", is_warning=True)
        return
    if not found:
        yield Problem("index", shown, "matches no index that is open", "Correct it, or wait: they are found.", is_warning=True)
    if not found or not reading.field:
        return
    kinds: set[str] = set()
    for stream in found[:_LOOKED_AT]:
        try:
            kinds.add(pages.kind(stream.name))
        except StreamGone:
            continue
        except PermanentError as error:
            key = "overlap" if str(error).startswith("overlap:") else "incrementing.field"
            yield Problem(key, str(config.raw[key]), str(error), "Correct it.")
            return
    if kinds == {""}:
        reason = f"is a field of no document of {shown} yet"
        yield Problem("incrementing.field", reading.field, reason, "Correct the name, or wait for documents.", is_warning=True)
