"""`python -m services.position` runs the position service."""

import sys

from rocketconnect_kit.private import start_without_secrets

start_without_secrets()
from services.position.server import main  # noqa: E402 - what it loads would be loaded twice

sys.exit(main(sys.argv[1:]))
