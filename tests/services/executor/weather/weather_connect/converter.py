"""A converter."""

from rocketconnect_sdk import Schema
from rocketconnect_sdk.converters import Converter

from . import __version__


class WeatherConverter(Converter):
    """Texts, and before each the version that wrote it."""

    name = "weather"

    def encode(self, value: object, schema: Schema | None) -> bytes:
        return f"{__version__}: {value}".encode()

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        return data.decode(), None
