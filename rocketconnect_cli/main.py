"""Where the command `rocketconnect` begins. Imports nothing of the rest, so that Ctrl-C is answered while that still loads."""

import sys

INTERRUPTED = 130
"""What a command that Ctrl-C has ended exits with, as shells have it."""


def main() -> None:
    """Runs the command line."""
    try:
        from rocketconnect_cli.commands.root import app

        app()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: nothing was changed.\n")
        sys.exit(INTERRUPTED)
