"""`python -m services.exporter`."""

import sys
from collections.abc import Sequence

from rocketconnect_kit.serving import server as serve
from rocketconnect_kit.settings import load
from services.exporter.server import run
from services.exporter.settings import ExporterSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the exporter; return the exit code."""
    settings = load(ExporterSettings, sys.argv[1:] if argv is None else argv)
    return serve.run("exporter", settings, lambda: run(settings))


if __name__ == "__main__":
    sys.exit(main())
