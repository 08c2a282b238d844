"""A prefix of a bucket, through obstore."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from connectors.objects.faults import understood
from connectors.objects.google import tokens
from connectors.objects.location import Location
from connectors.objects.logins import AzureLogin, GoogleLogin, Login, S3Login, account_key_problem, token_problem
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.permissions.connections import check_url
from rocketconnect_sdk.permissions.forwarding import proxy

Remote = S3Store | GCSStore | AzureStore
"""The objects below a prefix."""


def connect(place: Location, login: Login, *, seconds: float = 30, retries: int = 3) -> Remote:
    """The objects below a prefix. Asks the store for nothing yet.

    Args:
        place: The bucket and the prefix.
        login: Its server.
        seconds: Of one request, at most.
        retries: How often a request is repeated.

    Raises:
        HostRefused: the executor lets no connector speak to the server.
        PermanentError: who we are is no such thing, or the environment of the executor does not let it be said.
    """
    url = login.url(place.bucket)
    # For the one who waits for an answer: the client itself would take a refusal for one of the store.
    check_url(url)
    through = proxy()
    given: dict[str, Any] = {
        "prefix": place.prefix or None,
        "client_options": {
            "timeout": f"{seconds}s",
            "connect_timeout": "3s",
            "allow_http": url.startswith("http:"),
            **({} if through is None else {"proxy_url": through}),
        },
        "retry_config": {"max_retries": retries, "retry_timeout": timedelta(seconds=seconds)},
        "skip_signature": False,
    }
    try:
        return _made(place.bucket, login, url, given)
    except (BaseError, ValueError) as error:
        # What an error of the client says may repeat a part of the key.
        said = str(error) if isinstance(error, ValueError) else f"is not taken by obstore ({type(error).__name__})"
        msg = f"{place}: {login.who[0]} {said}"
        raise PermanentError(msg) from None


def _made(bucket: str, login: Login, url: str, given: dict[str, Any]) -> Remote:
    # What the environment says of clouds is whose the executor is: all that could be taken from there is given here.
    who: dict[str, Any]
    match login:
        case S3Login():
            who = {"access_key_id": login.key, "secret_access_key": login.secret, "token": login.token or None, "expires_at": None}
            return S3Store(
                bucket,
                endpoint=url,
                region=login.region,
                virtual_hosted_style_request=login.virtual_host,
                unsigned_payload=False,
                conditional_put="etag",
                credential_provider=lambda: who,  # type: ignore[arg-type]  # a TypedDict
                **given,
            )
        case GoogleLogin():
            return GCSStore(bucket, base_url=url, credential_provider=tokens(login.account), **given)  # type: ignore[arg-type]
        case AzureLogin():
            if problem := token_problem(login.token) if login.token else account_key_problem(login.key):
                raise ValueError(problem)
            who = {"sas_token": login.token} if login.token else {"access_key": login.key}
            return AzureStore(
                bucket,
                account_name=login.account,
                endpoint=url,
                use_emulator=False,
                credential_provider=lambda: {**who, "expires_at": None},  # type: ignore[arg-type]  # a TypedDict
                **given,
            )
    msg = f"no store is reached by a {type(login).__name__}"
    raise TypeError(msg)


@contextmanager
def asking(place: Location) -> Iterator[None]:
    """Turns an error of the store in the block into what the task does about it. Raises as `understood` says."""
    try:
        yield
    except (BaseError, OSError, NotImplementedError) as error:
        raise understood(error, place) from None


def says_no_bucket(error: BaseException) -> bool:
    """Whether what was not found is the bucket."""
    return any(f"<Code>{code}</Code>" in str(error) for code in ("NoSuchBucket", "ContainerNotFound"))
