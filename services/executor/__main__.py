"""`python -m services.executor` runs the executor service."""

import sys

from rocketconnect_kit.private import start_without_secrets

if __name__ == "__main__":
    start_without_secrets()
    from services.executor.server import main

    sys.exit(main(sys.argv[1:]))
