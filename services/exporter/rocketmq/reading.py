"""Numbers in the texts with which a broker tells of itself."""

import re
from collections.abc import Iterator, Mapping

from services.exporter.rocketmq import names

_UNITS = {unit: 1024.0**power for power, unit in enumerate(["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])}
# Java writes the sign of its own language.
_SIZE = r"(\d+(?:[.,]\d+)?) ([KMGTPE]?i?B)"
_CAPACITY = re.compile(rf"Total : {_SIZE}, Free : {_SIZE}\.?")


def numbers(table: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield by the end of the metric's name what the table says; what is not said, or unknown, is left out."""
    for end, (key, _) in names.KEYS.items():
        value = _number(table.get(key, ""))
        # -1: it does not measure that, or there is no message yet.
        if value is not None and value >= 0:
            yield end, value
    for end, (key, _) in names.RATES.items():
        # Before RocketMQ 5 the word was written in another way.
        said = table.get(key) or table.get(key.replace("Transferred", "Transfered"), "")
        for span, text in zip(names.SPANS, said.split(" "), strict=False):
            if (rate := _number(text)) is not None:
                yield f"{end}_tps{span}", rate
    times = dict(re.findall(r"\[([^\]]+)\]:(\d+)", table.get("putMessageDistributeTime", "")))
    for end, said in names.PUT_TIMES.items():
        if said in times:
            yield f"pmdt_{end}", float(times[said])
    if capacity := _CAPACITY.fullmatch(table.get("commitLogDirCapacity", "").strip()):
        yield "commitlogdir_capacity_total", _bytes(capacity[1], capacity[2])
        yield "commitlogdir_capacity_free", _bytes(capacity[3], capacity[4])


def _number(text: str) -> float | None:
    if size := re.fullmatch(_SIZE, text):
        return _bytes(size[1], size[2])
    try:
        return float(text)
    except ValueError:
        return None


def _bytes(number: str, unit: str) -> float:
    return float(number.replace(",", ".")) * _UNITS.get(unit, 1.0)
