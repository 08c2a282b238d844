"""`python -m services.state` runs the state service."""

import sys

from services.state.server import main

sys.exit(main(sys.argv[1:]))
