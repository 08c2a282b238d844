"""`python -m services.gateway`."""

import sys
from collections.abc import Sequence

from rocketconnect_kit.serving import server as serve
from rocketconnect_kit.settings import load
from services.gateway.server import run
from services.gateway.settings import GatewaySettings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the gateway; return the exit code."""
    settings = load(GatewaySettings, sys.argv[1:] if argv is None else argv)
    return serve.run("gateway", settings, lambda: run(settings))


if __name__ == "__main__":
    sys.exit(main())
