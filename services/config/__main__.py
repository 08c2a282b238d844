"""`python -m services.config` runs the config service."""

import sys

from services.config.server import main

sys.exit(main(sys.argv[1:]))
