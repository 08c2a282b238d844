"""The metrics of each service, and whether it is ready."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rocketconnect_cli.diagnosis.asking import Asking, Unasked
from rocketconnect_cli.diagnosis.bundle import Bundle
from rocketconnect_cli.diagnosis.tails import tail
from rocketconnect_cli.embedded.data_directory import DataDirectory

_SERVING = re.compile(r"\bserving\b.{0,200}?metrics(?:=|\": \")(?P<address>[^\s\"]+:\d+)")
_BUILD, _LABEL = re.compile(r"^rocketconnect_build_info\{(.*)\}", re.MULTILINE), re.compile(r"(\w+)=\"([^\"]*)\"")
_LOG_BYTES = 4 << 20


def places(data: Path, given: Sequence[str]) -> dict[str, str]:
    """Where metrics are, by the name of a service: those that were given, and those of `rocketconnect up` on a data directory."""
    found = {}
    if port := DataDirectory(data).kept_ports().get("metrics"):
        found["exporter"] = f"127.0.0.1:{port}"
    for log in sorted(data.glob("logs/*.log")):
        with suppress(OSError):
            # The last start counts.
            for match in _SERVING.finditer(tail(log, _LOG_BYTES)):
                found[log.stem] = match["address"]
    for text in given:
        name, _, address = text.rpartition("=")
        found[name or address.replace(":", "-")] = address
    return found


def metrics(bundle: Bundle, asking: Asking, found: Mapping[str, str]) -> None:
    """Add what each says."""
    if not found:
        bundle.miss("metrics", "where they are is not known here: give --metrics HOST:PORT for each service")
    builds = {}
    for name, address in found.items():
        with suppress(Unasked):  # the metrics are not there either, then, and that is told
            ready = asking.get(f"http://{address}/readyz")
            # The exporter has metrics at any path.
            if len(ready.text) < 10_000:
                bundle.text(f"health/{name}.txt", f"{ready.status} {ready.text}")
            if ready.status == 503:
                bundle.see(f"{name} is not ready: {ready.text}")
        try:
            text = asking.get(f"http://{address}/metrics").text
            bundle.text(f"metrics/{name}.txt", text)
            builds[name] = dict(_LABEL.findall(build[1])) if (build := _BUILD.search(text)) else {}
        except Unasked as error:
            bundle.miss(f"metrics of {name}", str(error))
            bundle.see(f"{name} does not answer at {address}: {error}")
    if builds:
        bundle.document("versions/services.json", builds)
