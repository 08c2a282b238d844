"""Looks at a system before anything runs there: one that can't be asked now may be there later, and one that refuses us is told."""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps

from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config

Check = Callable[[Config], Iterable[Problem]]


def preflight(
    *,
    away: tuple[str, str] = ("url", "Start the server, or correct the URL."),
    refused: tuple[str, str] = ("url", "Correct what it says."),
) -> Callable[[Check], Check]:
    """Makes a check of what connects to a system and yields what is wrong with it there.

    It is not done where a secret of the login is still a reference, which is looked up where the connector runs. An error that
    names its option is a problem of that one; else SystemAway and RetriableError are a warning, since the task waits for that, and
    PermanentError is a problem. Other errors are raised.

    Args:
        away: The option to which it belongs that nobody answers, and what to do.
        refused: The same where we are refused.
    """

    def made(look: Check) -> Check:
        @wraps(look)
        def check(config: Config) -> Iterator[Problem]:
            if not login_is_known(config):
                return
            try:
                yield from look(config)
            except (SystemAway, RetriableError, PermanentError) as error:
                named = error.option in config
                later = not isinstance(error, PermanentError) and not named
                key, fix = (error.option, "Put it right.") if named else away if later else refused
                # Whoever tells it to people takes secrets out, as of all problems of checks.
                yield Problem(key, config.raw.get(key, ""), str(error), fix, is_warning=later)

        return check

    return made
