"""A prefix of a bucket, through obstore."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from obstore.exceptions import BaseError
from obstore.store import S3Store

from connectors.objects.faults import understood
from connectors.objects.place import Login, Place
from rocketconnect_sdk.permissions.connections import check_url
from rocketconnect_sdk.permissions.forwarding import proxy


def connect(place: Place, login: Login, *, seconds: float = 30, retries: int = 3) -> S3Store:
    """The objects below a prefix. Asks the store for nothing yet.

    Args:
        place: The bucket and the prefix.
        login: Its server.
        seconds: Of one request, at most.
        retries: How often a request is repeated.

    Raises:
        HostRefused: the executor lets no connector speak to the server.
    """
    # What the environment says of AWS is whose the executor is: all that could be taken from there is given here.
    keys = {"access_key_id": login.key, "secret_access_key": login.secret, "token": login.token or None, "expires_at": None}
    url = login.url(place.bucket)
    # For the one who waits for an answer: the client itself would take a refusal for one of the store.
    check_url(url)
    through = proxy()
    return S3Store(
        place.bucket,
        prefix=place.prefix or None,
        endpoint=url,
        region=login.region,
        virtual_hosted_style_request=login.virtual_host,
        skip_signature=False,
        unsigned_payload=False,
        conditional_put="etag",
        client_options={
            "timeout": f"{seconds}s",
            "connect_timeout": "3s",
            "allow_http": url.startswith("http:"),
            **({} if through is None else {"proxy_url": through}),
        },
        retry_config={"max_retries": retries, "retry_timeout": timedelta(seconds=seconds)},
        credential_provider=lambda: keys,  # type: ignore[arg-type]  # a TypedDict
    )


@contextmanager
def asking(place: Place) -> Iterator[None]:
    """Turns an error of the store in the block into what the task does about it. Raises as `understood` says."""
    try:
        yield
    except (BaseError, OSError, NotImplementedError) as error:
        raise understood(error, place) from None


def says_no_bucket(error: BaseException) -> bool:
    """Whether what was not found is the bucket."""
    return "<Code>NoSuchBucket</Code>" in str(error)
