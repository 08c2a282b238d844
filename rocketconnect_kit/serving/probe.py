"""Whether what runs in this container is well: `python -m rocketconnect_kit.serving.probe [PORT]`, for its health check.

Asks `/readyz` of this machine, by HTTP or HTTPS: at that port; without one beside the metrics, at ROCKETCONNECT_METRICS_PORT.
Ends with 0 when all is well; else with 1 and the cause.
"""

import os
import ssl
import sys
import urllib.error
import urllib.request
from http.client import HTTPException

_SECONDS = 4.0


def main() -> int:
    """Ask; return the exit code."""
    port = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ROCKETCONNECT_METRICS_PORT", "")
    if not port.isdecimal():
        sys.stderr.write("ROCKETCONNECT_METRICS_PORT is not set: set it to the port of the service's metrics\n")
        return 1
    cause = ""
    for scheme in ("http", "https"):
        asked = f"{scheme}://127.0.0.1:{port}/readyz"
        try:
            with urllib.request.urlopen(asked, timeout=_SECONDS, context=_any_certificate()):  # noqa: S310 - no other schemes
                return 0
        except urllib.error.HTTPError as error:
            cause = error.read().decode("utf-8", "replace").strip()
            break
        except (OSError, HTTPException) as error:
            # The first one tells: nobody listens, or it is no HTTP.
            cause = cause or f"127.0.0.1:{port} does not answer: {error}"
    sys.stderr.write(f"{cause}\n")
    return 1


def _any_certificate() -> ssl.SSLContext:
    """It is this container, and its certificate is for another name."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


if __name__ == "__main__":
    sys.exit(main())
