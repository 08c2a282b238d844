"""What a source would write into its topic, as far as it is known before it runs. Pure, but for what converters do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.transforms.base import Record, Records, one_by_one
from rocketconnect_sdk.transforms.chain import Chain
from services.executor.host.jobs.forms import Form, content_of

_CONVERTER = "value.converter"
_ENVELOPED = "value.converter.schemas.enable"
_JSON = frozenset({Form.OBJECT, Form.CHANGE, Form.JSON})
_ENVELOPES = frozenset({Form.ENVELOPE, Form.UNTYPED})
_REGISTERED = frozenset({Form.REGISTERED})
_FORMS: Mapping[str, frozenset[Form]] = {
    "arrow": frozenset({Form.PACKED}),
    "string": _JSON | _ENVELOPES | {Form.TEXT},
    **dict.fromkeys(("avro", "json_schema", "protobuf"), _REGISTERED),
}
_TRIED = 1000
"""So many records are encoded."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a source would write.

    Attributes:
        forms: What its messages may be; empty: anything.
        said: The options that say so.
        bodies: Some messages; none: not known.
        properties: What their converter gives each of them.
        schema: Of the rows that these were made of; None: they had none, or more than one.
    """

    forms: frozenset[Form]
    said: str
    bodies: Sequence[bytes] = ()
    properties: Sequence[Mapping[str, str]] = ()
    schema: Schema | None = None


def written_of(config: Config, converter: Converter, sample: SourceBatch | None, chain: Chain | None) -> Written:
    """What a source writes.

    Args:
        config: Its configuration.
        converter: That of its values.
        sample: Some of its records; None: not known.
        chain: Its transforms; None: what they make of records is not known.
    """
    said = _said(config)
    records = [] if sample is None or chain is None else records_of(config, sample, chain)
    converter.for_topic(config["topic"])
    bodies: list[bytes] = []
    properties: list[Mapping[str, str]] = []
    for record in records:
        try:
            bodies.append(converter.encode_dry(record.value, record.schema))
        except RecordError:
            # A record that is bad then, whatever is in the topic.
            continue
        properties.append(converter.properties_of(record.value, record.schema))
    forms = {content_of(body).form for body in bodies if body}
    # A line of text may well be a number.
    forms |= {Form.JSON} if Form.TEXT in forms else set()
    schemas = {record.schema for record in records}
    schema = schemas.pop() if len(schemas) == 1 else None
    is_row = schema is not None and schema.type is Type.STRUCT
    return Written(frozenset(forms) or _possible(config), said, bodies, properties, schema if is_row else None)


def _said(config: Config) -> str:
    name = config[_CONVERTER]
    enveloped = config.raw.get(_ENVELOPED) if name == "json" else None
    return f"{_CONVERTER}={name}" + (f" and {_ENVELOPED}={enveloped}" if enveloped else "")


def _possible(config: Config) -> frozenset[Form]:
    """What the converter may write, whatever the records are; nothing: it is not known."""
    name = config[_CONVERTER]
    if name == "json":
        is_enveloped = config.raw.get(_ENVELOPED, "true").strip().lower() == "true"
        # An envelope whose payload is no object is only JSON to whoever looks at it.
        return _ENVELOPES | {Form.JSON} if is_enveloped else _JSON
    return _FORMS.get(name, frozenset())


def records_of(config: Config, sample: SourceBatch, chain: Chain) -> list[Record]:
    """Those of the sample that go into the topic of the configuration, as its transforms make them; tombstones left out."""
    count = min(len(sample), _TRIED)
    first = sample.slice(0, count)
    given = Records(
        first.values,
        range(count),
        config["topic"],
        first.schema,
        first.key_schema,
        first.keys,
        first.timestamps_ms,
        first.headers,
        None if first.topics is None else [topic or config["topic"] for topic in first.topics],
    )
    made = (record for _, record in one_by_one(chain.run(given).runs))
    return [record for record in made if record.topic == config["topic"] and record.value is not None]
