"""`python -m services.executor` runs the executor service."""

import sys

from services.executor.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
