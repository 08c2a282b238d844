"""`python -m services.config` runs the config service."""

import sys

from rocketconnect_kit.private import start_without_secrets

start_without_secrets()
from services.config.server import main  # noqa: E402 - what it loads would be loaded twice

sys.exit(main(sys.argv[1:]))
