"""`rocketconnect up` with pipelines that run, and a browser in front of its console."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.running import running
from tests import stores
from tests.console.browser import Page, browsing
from tests.processes import wait_until
from tests.spoken import rc

WRONG = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
LONG = f"no JSON {'x' * (1 << 20)} its end"
JSON = {"value.converter": "json", "value.converter.schemas.enable": "false"}


@dataclass(frozen=True)
class Started:
    """Two workers, lines of a file in the topic `orders`, and a sink that keeps what is no JSON as dead letters."""

    url: str
    api: Api
    folder: Path
    name_server: str

    def create(self, name: str, config: dict[str, str]) -> None:
        self.api.request("POST", "/v1/connectors", body={"name": name, "config": config})

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.is_file() else []


@pytest.fixture(scope="package")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder = tmp_path_factory.mktemp("console")
    stores.prepare(folder / "data")
    assert rc("", "secret", "new-key", str(folder / "keys"))[0] == 0
    with ExitStack() as until:
        until.enter_context(pytest.MonkeyPatch.context()).setenv("ROCKETCONNECT_KEYSTORE_KEYS", str(folder / "keys"))
        ready = until.enter_context(running(folder / "data", "--executors", "2", drain=False))
        api = until.enter_context(Api(str(ready["rest"])))
        made = Started(str(ready["console"]), api, folder, str(ready["nameServer"]))
        rows = [json.dumps({"id": number, "price": 12345678901234567890}) for number in range(5)]
        (folder / "in.txt").write_text("".join(f"{line}\n" for line in [*rows[:2], WRONG, *rows[2:], LONG]))
        made.create("orders-in", {"connector.class": "file_source", "filename": str(folder / "in.txt"), "topic": "orders"})
        queues = {f"errors.deadletterqueue.{each}.queue.nums": "1" for each in ("read", "write")}
        dead = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "orders-dead", **queues}
        sink = {"connector.class": "file_lines", "engine": "native", "topics": "orders"}
        made.create("orders-out", {**sink, **JSON, **dead, "filename": str(folder / "out.txt")})
        api.request("PUT", "/v1/secrets/orders-password", body={"value": "not shown"})
        wait_until(lambda: len(made.lines("out.txt")) == len(rows), 120)
        yield made


@pytest.fixture
def page(started: Started, tmp_path: Path) -> Iterator[Page]:
    assert started.url
    with browsing(tmp_path) as page:
        page.is_like()
        yield page
        assert page.troubles == []
