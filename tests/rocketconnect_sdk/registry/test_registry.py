"""The client of schema registries, against one that answers over HTTP, and against what is none."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from rocketconnect_sdk.errors import ConfigError, PermanentError, SystemAway
from rocketconnect_sdk.http import Answer
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.registry import OPTIONS, Incompatible, Reference, RegisteredSchema, Registry, Unknown
from rocketconnect_sdk.registry.answers import NoAnswer, RegistryRejected, content
from tests.registry.server import TestRegistry, running


def avro(*fields: str, name: str = "r") -> RegisteredSchema:
    listed = [{"name": field.rstrip("?"), "type": "int", **({"default": 0} if field.endswith("?") else {})} for field in fields]
    return RegisteredSchema("AVRO", json.dumps({"type": "record", "name": name, "fields": listed}))


def client(*urls: str, **options: str) -> Registry:
    given = {key.replace("_", "."): value for key, value in options.items()}
    return Registry(parse([replace(option, secret=False) for option in OPTIONS], {"schema.registry.url": ",".join(urls), **given}))


@pytest.fixture
def registry() -> Iterator[TestRegistry]:
    with running() as found:
        yield found


def unused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_what_is_registered_is_found_by_its_id_its_subject_and_itself(registry: TestRegistry) -> None:
    ask = client(registry.url)
    number = ask.register("a/b c-value", avro("x"))
    assert ask.register("a/b c-value", avro("x")) == number == ask.find("a/b c-value", avro("x"))
    assert ask.by_id(number) == avro("x")
    latest = ask.version("a/b c-value")
    assert latest is not None
    assert (latest.number, latest.id, latest.schema) == (1, number, avro("x"))
    assert ask.version("a/b c-value", 1) == latest
    assert registry.store.subjects == {"a/b c-value": [number]}


def test_what_is_not_there_is_not_found(registry: TestRegistry) -> None:
    ask = client(registry.url)
    assert ask.version("s") is None
    assert ask.find("s", avro("x")) is None
    assert ask.compatibility("s") is None
    ask.register("s", avro("x"))
    assert ask.find("s", avro("x", "y?")) is None
    assert ask.version("s", 7) is None
    with pytest.raises(Unknown, match="no schema 77"):
        ask.by_id(77)


def test_a_schema_that_breaks_what_the_subject_promises_is_told_with_the_reason(registry: TestRegistry) -> None:
    ask = client(registry.url)
    ask.set_compatibility("s", "BACKWARD")
    assert ask.compatibility("s") == "BACKWARD"
    ask.register("s", avro("x"))
    assert ask.conflicts("s", avro("x", "y?")) == []
    (reason,) = ask.conflicts("s", avro("x", "new"))
    assert "READER_FIELD_MISSING_DEFAULT_VALUE: new" in reason
    with pytest.raises(Incompatible, match=r"subject s, which is not compatible.*READER_FIELD_MISSING_DEFAULT_VALUE: new"):
        ask.register("s", avro("x", "new"))
    assert registry.store.subjects == {"s": [1]}


@pytest.mark.parametrize(
    ("level", "added", "dropped"),
    [("BACKWARD", False, True), ("FORWARD", True, False), ("FULL", False, False), ("NONE", True, True)],
)
def test_the_level_of_a_subject_says_what_may_change(registry: TestRegistry, level: str, added: bool, dropped: bool) -> None:
    ask = client(registry.url)
    ask.set_compatibility("s", level)
    ask.register("s", avro("x", "y"))
    assert (not ask.conflicts("s", avro("x", "y", "z"))) is added
    assert (not ask.conflicts("s", avro("x"))) is dropped


def test_references_are_sent_and_given_back(registry: TestRegistry) -> None:
    ask = client(registry.url)
    ask.register("part", avro("x", name="part"))
    whole = RegisteredSchema("AVRO", '{"type":"array","items":"part"}', (Reference("part", "part", 1),))
    assert ask.by_id(ask.register("whole", whole)) == whole


def test_a_schema_that_is_none_is_refused_for_good(registry: TestRegistry) -> None:
    with pytest.raises(PermanentError, match=r"refuses a schema for the subject s: Invalid schema.*42201"):
        client(registry.url).register("s", RegisteredSchema("AVRO", '{"type":"no"}'))


def test_a_registry_that_does_not_answer_is_waited_for_and_named() -> None:
    gone = unused()
    with pytest.raises(SystemAway, match=f"{gone} does not answer"):
        client(gone).by_id(1)


def test_the_next_url_is_asked_where_one_does_not_answer(registry: TestRegistry) -> None:
    ask = client(unused(), registry.url)
    number = ask.register("s", avro("x"))
    assert ask.by_id(number) == avro("x")


def test_all_urls_are_told_when_none_answers(registry: TestRegistry) -> None:
    gone = unused()
    registry.fault = JSONResponse({"error_code": 50003, "message": "no leader"}, 503)
    with pytest.raises(SystemAway) as caught:
        client(gone, registry.url).by_id(1)
    assert f"{gone} does not answer: " in str(caught.value)
    assert f"{registry.url} answers 503: no leader" in str(caught.value)


def test_after_a_fault_the_same_client_goes_on(registry: TestRegistry) -> None:
    ask = client(registry.url)
    registry.fault = Response("busy", 429, {"Retry-After": "7"})
    with pytest.raises(SystemAway) as caught:
        ask.register("s", avro("x"))
    assert caught.value.wait == 7
    registry.fault = None
    assert ask.register("s", avro("x")) == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Response("<html>Welcome</html>", 200, media_type="text/html"), "answers 200 with text/html"),
        (Response("<html>Not found</html>", 404, media_type="text/html"), "answers 404 with text/html"),
        (Response("Bad gateway", 502, media_type="text/plain"), "answers 502"),
        (RedirectResponse("http://127.0.0.1:1/login"), "answers 307 with"),
        (JSONResponse({"detail": "no such page"}, 404), "/apis/ccompat/v7"),
        (JSONResponse(["anything"]), "answers with no schema, as no schema registry does"),
        (JSONResponse({"schema": 7}), "answers with no schema"),
        (JSONResponse({"schema": "x", "references": [{"name": "a"}]}), "answers with no subject"),
        (Response(b"[" * 100_000, 200, media_type="application/json"), "no JSON"),
        (Response(b" " * (17 << 20), 200), "more than 16 MiB"),
    ],
)
def test_what_is_no_answer_of_a_registry_is_waited_for(registry: TestRegistry, fault: Response, said: str) -> None:
    registry.fault = fault
    with pytest.raises(SystemAway, match="schema registry does not answer") as caught:
        client(registry.url).by_id(1)
    assert said in str(caught.value)
    assert registry.url in str(caught.value)


def test_an_answer_that_takes_too_long_is_given_up(registry: TestRegistry) -> None:
    registry.seconds = 30
    with pytest.raises(SystemAway, match=r"no answer within 0.2 s \(schema.registry.timeout\)"):
        client(registry.url, schema_registry_timeout="200ms").by_id(1)
    registry.seconds = 0


@pytest.mark.slow
def test_an_answer_that_never_ends_is_given_up(registry: TestRegistry) -> None:
    async def drops() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.1)

    registry.fault = StreamingResponse(drops())
    with pytest.raises(SystemAway, match=r"no end of the answer|no answer within 0.5 s"):
        client(registry.url, schema_registry_timeout="500ms").by_id(1)


def test_who_one_is_is_said_by_a_password_or_a_token(registry: TestRegistry) -> None:
    registry.user, registry.token = "me:se:cret", "abc"
    assert client(registry.url, basic_auth_user_info="me:se:cret").version("s") is None
    assert client(registry.url, bearer_auth_token="abc").version("s") is None
    with pytest.raises(PermanentError, match=r"answers 401: Unauthorized. Give basic.auth.user.info"):
        client(registry.url, basic_auth_user_info="me:wrong").version("s")
    registry.fault = JSONResponse({"error_code": 403, "message": "read only"}, 403)
    with pytest.raises(PermanentError, match=r"answers 403: read only. Give its user the right"):
        client(registry.url, bearer_auth_token="abc").register("s", avro("x"))


def test_certificates_that_cannot_be_read_are_told_with_what_to_do(tmp_path: Path) -> None:
    for place in (tmp_path / "missing.pem", tmp_path / "empty.pem"):
        if place.stem == "empty":
            place.write_text("nothing")
        with pytest.raises(PermanentError, match=r"schema.registry.ssl.ca.location=.*Put a readable file"):
            client("https://127.0.0.1:1", schema_registry_ssl_ca_location=str(place)).by_id(1)


def test_a_registry_whose_certificate_nobody_knows_is_not_asked() -> None:
    assert ssl.create_default_context().verify_mode is ssl.CERT_REQUIRED
    with running() as registry, pytest.raises(SystemAway, match="SSL"):
        client(registry.url.replace("http:", "https:")).by_id(1)


@pytest.mark.parametrize("url", ["", "registry:8081", "ftp://a", "http://", "http://a:x", "http://me:secret@a"])
def test_a_url_that_is_none_is_told_at_once(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        client(url)
    assert [problem.key for problem in caught.value.problems] == ["schema.registry.url"]


@given(
    st.integers(100, 599),
    st.binary(max_size=50) | st.sampled_from([b"null", b'{"error_code":1}', b'{"error_code":"x","message":[]}', b"[" * 9_999]),
    st.text(max_size=20)
    | st.sampled_from(["-1", "1e9", "9" * 50, "Wed, 21 Oct 2015 07:28:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"]),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_answered_it_is_an_answer_or_said_to_be_none(status: int, body: bytes, retry: str) -> None:
    waits: list[float | None] = []
    with suppress(RegistryRejected):
        try:
            content(Answer(status, body, {"retry-after": retry}), datetime.now(UTC))
        except NoAnswer as error:
            waits.append(error.wait)
    assert all(wait is None or 0 < wait <= 300 for wait in waits)


def test_a_date_says_how_long_to_wait() -> None:
    now = datetime(2015, 10, 21, 7, 27, 30, tzinfo=UTC)
    with pytest.raises(NoAnswer) as caught:
        content(Answer(503, b"", {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), now)
    assert caught.value.wait == 30
