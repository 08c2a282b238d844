"""What decodes the messages of a sink: one by one, or several records in a message."""

from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.transforms.chain import Chain
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.sink.decode.decoder import Decoder
from services.executor.runtime.sink.decode.part import DecodeSettings


def decoder(key: Converter, value: Converter, policy: ErrorPolicy, wanted: DecodeSettings, chain: Chain) -> "Decoder":
    """What decodes the messages of these converters, and transforms what is in them."""
    if isinstance(value, ArrowConverter):
        from services.executor.runtime.sink.decode.rows import RowsDecoder

        return RowsDecoder(key, value, policy, wanted, chain)
    if value.several:
        from services.executor.runtime.sink.decode.several import SeveralDecoder

        return SeveralDecoder(key, value, policy, wanted, chain)
    return Decoder(key, value, policy, wanted, chain)
