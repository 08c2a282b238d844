"""Migrations of a store, in a process of its own.

`python -m rocketconnect_kit.store.migration SERVICE`, with the URL of the store as input.

Apart from `database`, so that no service has to load it.
"""

import os
import sys

from rocketconnect_kit.errors import FailedPrecondition, Unavailable
from rocketconnect_kit.store import database


def main(service: str, url: str) -> int:
    """Migrate the store of a service; return the exit code.

    EX_TEMPFAIL, with the cause as output, when it is away; EX_CONFIG, with reason and cause, when somebody must do something.
    """
    bound = database.engine(url)
    try:
        database.migrate(bound, service)
    except Unavailable as error:
        sys.stdout.write(error.message)
        return os.EX_TEMPFAIL
    except FailedPrecondition as error:
        sys.stdout.write(f"{error.reason} {error.message}")
        return os.EX_CONFIG
    finally:
        bound.dispose()
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin.read()))
