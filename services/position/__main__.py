"""`python -m services.position` runs the position service."""

import sys

from services.position.server import main

sys.exit(main(sys.argv[1:]))
