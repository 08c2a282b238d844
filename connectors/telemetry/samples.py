"""What Prometheus sends as rows: one table for samples, native histograms, exemplars and what is said of metrics. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from connectors.telemetry.numbers import NOT_FINITE, Numbers, Unfit, is_stale, moment
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, Unit, struct, timestamp

_DOUBLE = Schema(Type.FLOAT64, optional=True)
_TIME = timestamp(Unit.MILLISECONDS, optional=True)
_BUCKETS = Schema(Type.ARRAY, items=struct([("index", Schema(Type.INT64)), ("count", _DOUBLE)]))
_HISTOGRAM = struct(
    [
        ("schema", Schema(Type.INT32)),
        ("count", _DOUBLE),
        ("sum", _DOUBLE),
        ("zero_threshold", _DOUBLE),
        ("zero_count", _DOUBLE),
        ("positive", _BUCKETS),
        ("negative", _BUCKETS),
        ("custom_bounds", Schema(Type.ARRAY, items=_DOUBLE)),
        ("has_floats", Schema(Type.BOOLEAN)),
        ("reset_hint", STRING),
    ],
    optional=True,
)
SCHEMA = struct(
    [
        ("kind", STRING),
        ("metric", OPTIONAL_STRING),
        ("labels", Schema(Type.MAP, keys=STRING, items=STRING)),
        ("time", _TIME),
        ("value", _DOUBLE),
        ("stale", Schema(Type.BOOLEAN)),
        ("start_time", _TIME),
        ("histogram", _HISTOGRAM),
        ("exemplar_labels", Schema(Type.MAP, optional=True, keys=STRING, items=STRING)),
        ("type", OPTIONAL_STRING),
        ("unit", OPTIONAL_STRING),
        ("help", OPTIONAL_STRING),
        ("not_finite", NOT_FINITE),
    ],
    name="sample",
)
_NOTHING: Mapping[str, object] = {**dict.fromkeys(field.name for field in SCHEMA.fields), "stale": False}
_NAME = "__name__"
_TYPES = ("unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset")
_HINTS = ("unknown", "yes", "no", "gauge")
_EXACT = 1 << 53
Pairs = Sequence[tuple[str, str]]
Made = Iterator[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Series:
    """A series as either version of the protocol has it.

    Attributes:
        pairs: Its labels.
        message: Has its samples, histograms and exemplars.
        exemplars: The labels of each exemplar.
        said: What is said of its metric, as columns.
        created: When it began, in milliseconds since 1970; 0: not said.
    """

    pairs: Pairs
    message: Any
    exemplars: Sequence[Pairs]
    said: Mapping[str, object]
    created: int = 0

    def things(self) -> Iterator[tuple[str, Any, Pairs]]:
        """The kind of each thing that becomes a row, the thing, and the labels that it has beside those of the series."""
        for sample in self.message.samples:
            yield "sample", sample, ()
        for histogram in self.message.histograms:
            yield "histogram", histogram, ()
        for exemplar, pairs in zip(self.message.exemplars, self.exemplars, strict=True):
            yield "exemplar", exemplar, pairs

    def row(self, kind: str, thing: Any, pairs: Pairs) -> dict[str, object]:
        """The row of one of them. Raises Unfit."""
        labels, numbers = _labels(self.pairs), Numbers()
        metric = labels.pop(_NAME, None)
        began = getattr(thing, "start_timestamp", 0) or self.created
        start = moment(began) if began else None
        shared = {**_NOTHING, "kind": kind, "metric": metric, "labels": labels, "time": moment(thing.timestamp), **self.said}
        if kind == "histogram":
            own = {"histogram": _histogram(thing, numbers), "stale": is_stale(thing.sum), "start_time": start}
        else:
            own = {"value": numbers.of("value", thing.value), "stale": is_stale(thing.value)}
            own |= {"start_time": start} if kind == "sample" else {"exemplar_labels": _labels(pairs)}
        return {**shared, **own, "not_finite": numbers.not_finite}


def described(metadata: Any) -> dict[str, object]:
    """The row of what is said of a metric."""
    said = said_of(metadata.type, metadata.help, metadata.unit)
    return {**_NOTHING, "kind": "metadata", "metric": metadata.metric_family_name or None, "labels": {}, **said}


def said_of(kind: int, text: str, unit: str) -> dict[str, object]:
    """What is said of a metric, as columns."""
    return {"type": _named(_TYPES, kind), "help": text or None, "unit": unit or None}


def _labels(pairs: Pairs) -> dict[str, str]:
    labels = dict(pairs)
    if len(labels) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"the label {twice[:100]!r} is there twice"
        raise Unfit(msg)
    return labels


def _histogram(thing: Any, numbers: Numbers) -> dict[str, object]:
    has_floats = thing.WhichOneof("count") == "count_float"

    def counts(side: str) -> list[float]:
        if has_floats:
            return list(getattr(thing, f"{side}_counts"))
        return [_exact(each) for each in accumulate(getattr(thing, f"{side}_deltas"))]

    count, zero_count = (
        getattr(thing, f"{name}_float") if has_floats else _exact(getattr(thing, f"{name}_int")) for name in ("count", "zero_count")
    )
    return {
        "schema": thing.schema,
        "count": numbers.of("histogram.count", count),
        "sum": numbers.of("histogram.sum", thing.sum),
        "zero_threshold": numbers.of("histogram.zero_threshold", thing.zero_threshold),
        "zero_count": numbers.of("histogram.zero_count", zero_count),
        "positive": _buckets("positive", thing.positive_spans, counts("positive"), numbers),
        "negative": _buckets("negative", thing.negative_spans, counts("negative"), numbers),
        "custom_bounds": numbers.list_of("histogram.custom_bounds", thing.custom_values),
        "has_floats": has_floats,
        "reset_hint": _named(_HINTS, thing.reset_hint),
    }


def _buckets(side: str, spans: Iterable[Any], counts: Sequence[float], numbers: Numbers) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    index = 0
    for span in spans:
        index += span.offset
        if span.length > len(counts) - len(found):
            msg = f"a histogram has more {side} buckets in its spans than counts"
            raise Unfit(msg)
        for _ in range(span.length):
            place = f"histogram.{side}.{len(found)}.count"
            found.append({"index": index, "count": numbers.of(place, counts[len(found)])})
            index += 1
    if len(found) < len(counts):
        msg = f"a histogram has more {side} counts than buckets in its spans"
        raise Unfit(msg)
    return found


def _exact(count: int) -> float:
    if abs(count) > _EXACT:
        msg = f"a histogram has the count {count}, which no floating point number has exactly"
        raise Unfit(msg)
    return float(count)


def _named(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)
