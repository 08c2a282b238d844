"""Prometheus' remote write, 1.0 and 2.0.

https://prometheus.io/docs/specs/prw/remote_write_spec/ and .../remote_write_spec_2_0/
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError

from connectors.http.bodies import Bodies, Row, Rows
from connectors.telemetry.numbers import Unfit, fitted
from connectors.telemetry.prometheus.write_v1_pb2 import WriteRequest
from connectors.telemetry.prometheus.write_v2_pb2 import Request as Request2
from connectors.telemetry.samples import SCHEMA, Pairs, Series, described, said_of
from rocketconnect_sdk.listeners.http import NotTaken, Request, Response, Unpacker, too_large
from rocketconnect_sdk.wording.counts import counted

_KIND = "application/x-protobuf"
_VERSIONS: Mapping[str, type[Any]] = {"prometheus.WriteRequest": WriteRequest, "io.prometheus.write.v2.Request": Request2}
_WRITTEN = {"Samples": "sample", "Histograms": "histogram", "Exemplars": "exemplar"}
_TOLD = 3
"""So many reasons are told of what is not taken."""
_VARINT_BYTES = 5


class RemoteWriteBodies(Bodies):
    """Samples, native histograms, exemplars and metadata, each a row. What can't be one is told, and the rest is taken.

    Args:
        most_bytes: The size of a record.
        status: Of the answer when all is stored.
    """

    def __init__(self, most_bytes: int, status: int) -> None:
        self._most_bytes = most_bytes
        self._status = status

    @property
    def packings(self) -> Mapping[str, Unpacker]:
        """See Bodies. Senders of the first years do not say how they pack."""
        return {"snappy": unsnapped, "": unsnapped}

    def look(self, request: Request) -> None:
        """See Bodies."""
        if _version(request) is None:
            given = request.headers.get("content-type", "nothing that is said")
            raise NotTaken(Response(415, f"remote write is {_KIND}, with proto={' or '.join(_VERSIONS)}, and this is {given}"))

    def read(self, request: Request) -> Rows:
        """See Bodies."""
        kind = _version(request)
        assert kind is not None  # noqa: S101 - looked at before
        try:
            message = kind.FromString(request.body)
        except DecodeError as error:
            raise NotTaken(Response(400, f"the body is no {kind.DESCRIPTOR.name} of remote write: {error}")) from None
        rows: list[Row] = []
        reasons: list[str] = []
        written: Counter[str] = Counter()
        is_second = kind is Request2
        for series in _second(message, reasons) if is_second else _first(message):
            shared = sum(len(name) + len(value) for name, value in series.pairs)
            for what, thing, pairs in series.things():
                try:
                    size = fitted(shared + thing.ByteSize(), self._most_bytes)
                    rows.append(Row(series.row(what, thing, pairs), size, SCHEMA, thing.timestamp))
                    written[what] += 1
                except Unfit as error:
                    reasons.append(str(error))
        if not is_second:
            rows += [Row(described(each), each.ByteSize(), SCHEMA) for each in message.metadata]
        # The second version wants to be told what was taken, also when something was not.
        headers = (
            {f"X-Prometheus-Remote-Write-{name}-Written": str(written[what]) for name, what in _WRITTEN.items()}
            if is_second
            else {}
        )
        if reasons:
            told = "; ".join(dict.fromkeys(reasons[:_TOLD]))
            return Rows(rows, Response(400, f"{counted(reasons, 'thing', 'is', 'are')} not taken: {told}", headers))
        return Rows(rows, Response(self._status, headers=headers))


def unsnapped(body: bytes, most_bytes: int) -> bytes:
    """What is in a block of Snappy. See Unpacker."""
    size, shift = 0, 0
    for byte in body[:_VARINT_BYTES]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > most_bytes:
        raise NotTaken(too_large(most_bytes))
    try:
        return bytes(pa.decompress(body, decompressed_size=size, codec="snappy", asbytes=True))
    except (OSError, pa.ArrowException) as error:
        raise NotTaken(Response(400, f"the body is no block of Snappy: {error}")) from None


def _version(request: Request) -> type[Any] | None:
    """The class of what is sent; None: none of those that are known."""
    kind, *parameters = (part.strip() for part in request.headers.get("content-type", "").split(";"))
    named = next((part.partition("=")[2].strip('"') for part in parameters if part.startswith("proto=")), "prometheus.WriteRequest")
    return _VERSIONS.get(named) if kind.lower() == _KIND else None


def _first(message: Any) -> Iterator[Series]:
    for each in message.timeseries:
        yield Series(_pairs(each.labels), each, [_pairs(exemplar.labels) for exemplar in each.exemplars], {})


def _pairs(labels: Sequence[Any]) -> Pairs:
    return [(label.name, label.value) for label in labels]


def _second(message: Any, reasons: list[str]) -> Iterator[Series]:
    symbols = message.symbols
    for each in message.timeseries:
        said = each.metadata
        try:
            pairs = _referred(symbols, each.labels_refs)
            exemplars = [_referred(symbols, exemplar.labels_refs) for exemplar in each.exemplars]
            words = said_of(said.type, symbols[said.help_ref], symbols[said.unit_ref]) if each.HasField("metadata") else {}
            yield Series(pairs, each, exemplars, words, each.created_timestamp)
        except IndexError:
            of_series = len(each.samples) + len(each.histograms) + len(each.exemplars)
            reasons += ["a series refers to symbols that are not there"] * of_series


def _referred(symbols: Sequence[str], refs: Sequence[int]) -> Pairs:
    if len(refs) % 2:
        raise IndexError
    return [(symbols[name], symbols[value]) for name, value in zip(refs[::2], refs[1::2], strict=True)]
