"""The columns of a topic as a DataFrame, and of which type its values are."""

from pyspark.sql.types import BinaryType, DataType, LongType, MapType, StringType, StructField, StructType, TimestampType

from pyspark_rocketmq.settings import Settings
from pyspark_rocketmq.topic import has_packed_rows, newest, opened, schema_of
from rocketconnect_sdk.evolution.tables import nullable
from rocketconnect_sdk.schema import Field, Schema
from rocketconnect_sdk.spark.types import to_spark_field
from rocketmq_remoting.batch import DecodedBatch

VALUE, KEY, PROBLEM = "value", "key", "problem"
_TEXT = StringType()
_ABOUT = {
    "topic": _TEXT,
    "queue": _TEXT,
    "offset": LongType(),
    "row": LongType(),
    "timestamp": TimestampType(),
    "headers": MapType(_TEXT, _TEXT),
}
"""The columns behind value and key."""


def form_of_topic(settings: Settings) -> StructType:
    """The columns of a read, as its options and the newest messages of its topic say.

    Raises:
        ConfigError, PermanentError: an option is wrong, or there is no such topic.
    """
    found: list[DecodedBatch] = []
    columns = settings.columns
    named = settings.config["value.converter"]
    if columns is None or not named:
        with opened(settings) as (topics, queues):
            found = list(newest(topics, queues))
    name = named or ("arrow" if has_packed_rows(found) else "string")
    schema = columns if columns is not None else _schema(settings, name, found)
    return form(settings, StructField(VALUE, _plain(name)) if schema is None else _field(schema))


def form(settings: Settings, value: StructField) -> StructType:
    """The columns of a read whose values are these."""
    fields = [value, StructField(KEY, _plain(settings.config["key.converter"]))]
    fields += [StructField(name, kind) for name, kind in _ABOUT.items()]
    if settings.config["errors.tolerance"] == "all":
        fields.append(StructField(PROBLEM, _TEXT))
    return StructType(fields)


def _schema(settings: Settings, name: str, found: list[DecodedBatch]) -> Schema | None:
    converter = settings.converter("value", name)
    return schema_of(found, converter.schema_in)


def _field(schema: Schema) -> StructField:
    # What is null in one message may be there in all others.
    return to_spark_field(Field(VALUE, nullable(schema)))


def _plain(converter: str) -> DataType:
    """Of what has no schema: bytes as they are, all else as text."""
    return BinaryType() if converter == "bytes" else _TEXT
