"""Whether the service of this container is well: `python -m rocketconnect_kit.serving.probe`, for health checks of containers.

Asks `/readyz` beside its metrics, at ROCKETCONNECT_METRICS_PORT of this machine. Ends with 0 when all is well; else with 1 and the
cause.
"""

import os
import sys
import urllib.error
import urllib.request

_SECONDS = 4.0


def main() -> int:
    """Ask; return the exit code."""
    port = os.environ.get("ROCKETCONNECT_METRICS_PORT", "")
    if not port.isdecimal():
        sys.stderr.write("ROCKETCONNECT_METRICS_PORT is not set: set it to the port of the service's metrics\n")
        return 1
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=_SECONDS):
            return 0
    except urllib.error.HTTPError as error:
        cause = error.read().decode("utf-8", "replace").strip()
    except OSError as error:
        cause = f"127.0.0.1:{port} does not answer: {error}"
    sys.stderr.write(f"{cause}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
