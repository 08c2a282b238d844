"""What is wrong with a store for a sink, as far as it can be seen before the sink runs."""

from collections.abc import Iterator

from connectors.object_store_sink.bucket import IGNORES, IGNORES_FIX, ignores_conditions
from connectors.object_store_sink.store import HIDDEN
from connectors.objects.location import Location
from connectors.objects.logins import Login
from connectors.objects.preflight import quick, reach_problems
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway


def bucket_problems(place: Location, login: Login) -> Iterator[Problem]:
    """Asks the store, with short time limits. Nothing is changed."""
    remote = quick(place, login)
    if found := list(reach_problems(place, login, remote, HIDDEN)):
        yield from found
        return
    try:
        if ignores_conditions(remote, place):
            yield Problem("endpoint", login.endpoint, IGNORES, f"{IGNORES_FIX}.")
    except (SystemAway, RetriableError):
        return  # it was there a moment ago
    except PermanentError as error:
        yield Problem(*login.who, f"cannot write: {error}", "Let it write below the prefix.")
