"""A transform and a converter for tests of the runtime, which need a system: while a file exists it is away, or busy."""

from dataclasses import replace
from pathlib import Path

from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.schema import BYTES, STRING, Schema
from rocketconnect_sdk.transforms import Record, Transform

AWAY = Option("away", "The file; it is busy where that says so.", default="")


def _look(path: str) -> None:
    if not path:
        return
    try:
        told = Path(path).read_text()
    except FileNotFoundError:
        return
    msg = f"{path} is there"
    raise (RetriableError if told == "busy" else SystemAway)(msg, wait=0.1)


class Loud(Transform):
    """Makes text upper case. "bad..." is bad, "drop..." is dropped, "bytes..." becomes bytes, "to NAME" goes to that topic."""

    name = "loud"
    options = (AWAY,)

    def apply(self, record: Record) -> Record | None:
        """See Transform."""
        _look(self.config["away"])
        text = str(record.value)
        if text.startswith("bad"):
            raise ValueError(text)
        if text.startswith("drop"):
            return None
        if text.startswith("bytes"):
            return replace(record, value=text.encode(), schema=BYTES)
        topic = text.removeprefix("to ") if text.startswith("to ") else record.topic
        return replace(record, value=text.upper(), schema=STRING, topic=topic)


class Gated(Converter):
    """UTF-8."""

    name = "gated"
    options = (AWAY,)

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """See Converter."""
        del schema
        _look(self.config["away"])
        return value if isinstance(value, bytes) else str(value).encode()

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """See Converter."""
        _look(self.config["away"])
        return data.decode(), STRING
