"""`python -m services.cluster` runs the cluster service."""

import sys

from services.cluster.server import main

sys.exit(main(sys.argv[1:]))
