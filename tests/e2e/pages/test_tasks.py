"""Task pages work as they are written: each command in a block of a console, with what it says.

What needs a tool of others, or packages that are not here, stands in a block of `sh` there. Nobody runs it.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.instance.running import running
from tests import stores
from tests.e2e.console import Shown, commands, differing, said
from tests.e2e.message_trace.java import compiled
from tests.e2e.pages.copies import ROOT
from tests.processes import wait_until
from tests.servers.mariadb import PASSWORD, Mariadb
from tests.spoken import rc

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ALIAS = "alias rocketconnect=.venv/bin/rocketconnect"
BOTH = "exec 2>&1"
"""For pages that show what commands say while they work, which is on the other output."""
CHANGING = {
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z": "TIME",
    r"\d{8}T\d{6}Z": "TIME",
    r"(?<= )\d+[sm](?= )": "AGE",
    r"(?:worker|executor)-\d(?:, (?:worker|executor)-\d)*": "WORKERS",
    r"RCREPLAY_\w+": "RCREPLAY_UID",
    r"\d+ (ms|bytes|KiB)\b": r"N \1",
    r"\(\d+ rows?\)": "(N rows)",
    r"\d+(?:\.\d+){3}(?::\d+)?": "ADDRESS",
    r"(?<=message )\S+(?=  at )": "ID",
    # Copies stand behind what the replay notes, or before it.
    r"\bbroker-0:0:[4-9]\b": "LATER",
    # A busy machine may not answer everything in time.
    r"\d+ things? could not be asked: .*": "SOME could not be asked",
    " {2,}": "  ",
}
"""What is another in each run, or with other workers, and how wide columns are because of it."""
LINES = "-s connector.class=file_lines -s engine=native"
"""A sink of files that needs no Spark, where `docs/start.md` has `file_sink`."""
JSON = "-s value.converter=json -s value.converter.schemas.enable=false"


def letters(topic: str) -> str:
    """Options of a sink that keeps bad records, in one queue, so that their ids are those of the page."""
    queues = " ".join(f"-s errors.deadletterqueue.{each}.queue.nums=1" for each in ("read", "write"))
    return f"-s errors.tolerance=all -s errors.deadletterqueue.topic.name={topic} {queues}"


def silent(*lines: str) -> list[Shown]:
    return [Shown(line, "") for line in lines]


def pipeline(text: str, topic: str, source: str, sink: str) -> list[str]:
    """Commands that make a file, read it into a topic of one queue and that into a file, and wait until all has arrived."""
    (into, into_options), (out, out_options) = (each.partition(" ")[::2] for each in (source, sink))
    lines = repr(text).strip("'")
    source_options = f"-s connector.class=file_source -s topic={topic} -s topic.queues=1 -s filename=/tmp/{topic}.txt"
    sink_options = f"{LINES} -s topics={topic} -s topic.queues=1 -s filename=/tmp/{topic}-out.txt"
    return [
        f"printf '{lines}' > /tmp/{topic}.txt",
        f"rocketconnect connector create {into} {source_options} {into_options}",
        f"rocketconnect connector create {out} {sink_options} {out_options}",
        f"rocketconnect connector wait {into} --state idle",
    ]


def shown_on(page: str) -> list[Shown]:
    shown = [*commands((ROOT / "docs" / page).read_text(encoding="utf-8"))]
    assert shown
    return shown


def settled(shown: Sequence[Shown], names: dict[str, str] | None = None) -> list[Shown]:
    """The outputs, with one word for all that differs from run to run."""
    return [Shown(command, _settled(output, {**(names or {}), **CHANGING})) for command, output in shown]


def _settled(output: str, forms: dict[str, str]) -> str:
    for form, name in forms.items():
        output = re.sub(form, name, output)
    return output


def wrong(
    shown: Sequence[Shown],
    url: str,
    folder: Path,
    before: Sequence[str] = (),
    changes: dict[str, str] | None = None,
    names: dict[str, str] | None = None,
) -> list[tuple[Shown, Shown]]:
    """The commands of a page that say something else than it shows.

    Args:
        shown: What the page shows.
        url: Where REST answers.
        folder: Stands for `/tmp`.
        before: Commands that make what the page begins with.
        changes: Names in the page's commands, and those that they have in this run.
        names: Further names that the commands say in this run, and those of the page.
    """
    first = silent(ALIAS, *before)
    found = said([*first, *shown], url, folder, changes)[len(first) :]
    back = {new: old for old, new in (changes or {}).items()}
    return differing(settled(shown), settled(found, {**back, **(names or {})}))


@pytest.fixture
def shared(instance: Any) -> Iterator[Any]:
    """The instance; connectors of a page are gone behind it, as other pages have some of these names, too."""

    def names() -> set[str]:
        return {each["name"] for each in instance.api.pages("/v1/connectors", "connectors", {"name": ""})}

    before = names()
    yield instance
    for name in sorted(names() - before):
        rc(instance.url, "connector", "delete", name, "--yes")


def test_the_page_of_positions_works_as_it_is_written(shared: Any, tmp_path: Path) -> None:
    begin = pipeline("one\ntwo\nthree\n", "placed", "in", "out")
    token = '-H "Authorization: Bearer $ROCKETCONNECT_TOKEN" ' if shared.is_guarded else ""
    changes = {"hello": "placed", "localhost:8082": shared.url.removeprefix("http://"), "curl -s ": f"curl -sf {token}"}
    wait = "rocketconnect connector wait out --state idle"
    assert wrong(shown_on("positions.md"), shared.url, tmp_path, [*begin, wait], changes) == []


def test_the_page_of_dead_letters_works_as_it_is_written(shared: Any, tmp_path: Path) -> None:
    text = "-s value.converter=string"
    bad = pipeline('"good"\n? one\n? two\n? three\n', "page-texts", f"in {text}", f"out {JSON} {letters('page-texts-dlq')}")
    cast = "-s transforms=types -s transforms.types.type=cast -s transforms.types.spec=id:int64"
    arrow = "-s value.converter=arrow"
    packed = pipeline(
        "id,name\n1,Ada\nx,Grace\n",
        "page-rows",
        f"packed-in -s format=csv {arrow}",
        f"packed {arrow} {cast} {letters('page-rows-dlq')}",
    )
    waits = [f"rocketconnect connector wait {name} --state idle" for name in ("out", "packed")]
    assert wrong(shown_on("dead-letters.md"), shared.url, tmp_path, [*bad, *packed, *waits]) == []


def test_the_page_of_verify_works_as_it_is_written(shared: Any, tmp_path: Path, mariadb: Mariadb) -> None:
    (tmp_path / "password").write_text(f"root={PASSWORD}\n")
    source = {
        "connector.class": "mysql_cdc_source",
        "hostname": "127.0.0.1",
        "port": str(mariadb.port),
        "username": "root",
        "password": f"${{file:{tmp_path}/password:root}}",
        "table.include": r"shop\.(customer|order)",
        "topic": "page-verify",
        "value.converter": "json",
    }
    sink = {
        "connector.class": "jdbc_sink",
        "topics": "page-verify-shop-customer,page-verify-shop-order",
        "connection.url": f"sqlite:///{tmp_path}/copy.db",
        "table.name.format": "${table}",
        "table.name.allowed": "customer,order",
        "insert.mode": "upsert",
        "pk.fields": "id",
        "delete.enabled": "true",
        "auto.create": "true",
        "value.converter": "json",
    }
    with mariadb.connect() as root, root.cursor() as cursor:
        try:
            _shop(cursor)
            for name, config in (("orders", source), ("copy", sink)):
                shared.api.request("POST", "/v1/connectors", body={"name": name, "config": config})
            wait_until(lambda: _rows(tmp_path / "copy.db") == 8200, 180)
            with closing(sqlite3.connect(tmp_path / "copy.db", timeout=30)) as copy:
                copy.execute('DELETE FROM "order" WHERE id = 7')
                copy.execute("""UPDATE "order" SET price = 0, changed_at = '2020-01-01 00:00:00' WHERE id = 8120""")
                copy.commit()
            # A comparison with rows that differ ends with an exit code, which the page shows.
            assert wrong(shown_on("verify.md"), shared.url, tmp_path, ["set +e", BOTH]) == []
        finally:
            for name in ("copy", "orders"):
                rc(shared.url, "connector", "delete", name, "--yes")
            cursor.execute("DROP DATABASE IF EXISTS shop")


def _rows(copy: Path) -> int:
    """Those of the table that comes last."""
    with closing(sqlite3.connect(copy, timeout=30)) as database, suppress(sqlite3.OperationalError):
        return int(database.execute('SELECT count(*) FROM "order"').fetchone()[0])
    return 0


def _shop(cursor: Any) -> None:
    cursor.execute("CREATE DATABASE shop")
    cursor.execute("CREATE TABLE shop.customer (id int PRIMARY KEY, name varchar(40))")
    cursor.execute("CREATE TABLE shop.order (id int PRIMARY KEY, price int, changed_at datetime)")
    cursor.executemany("INSERT INTO shop.customer VALUES (%s, 'Ada')", [(number,) for number in range(412)])
    rows = [(number,) for number in range(8200)]
    cursor.executemany("INSERT INTO shop.order VALUES (%s, 5, '2026-01-31 10:00:00')", rows)


def test_the_page_of_message_traces_works_as_it_is_written(shared: Any, tmp_path: Path) -> None:
    topic = "page-orders"
    assert rc(shared.url, "topic", "create", topic, "--queues", "1")[0] == 0
    run = compiled(tmp_path)
    assert run(shared.ready["nameServer"], topic, "order-1").startswith("TAKEN")

    def is_traced() -> bool:
        found = json.loads(rc(shared.url, "topic", "trace", topic, "--key", "order-1", "-o", "json")[1])["messages"]
        return bool(found) and len(found[0].get("steps", [])) == 3

    # Brokers index what they store a moment later.
    wait_until(is_traced, 60)
    names = {
        topic: "orders",
        "traced_producer": "shop",
        "traced_consumer": "billing",
        '"order-1 other"': '"order-1"',
        "tag tag": "tag new",
    }
    changes = {"trace orders": f"trace {topic}"}
    assert wrong(shown_on("message-trace.md"), shared.url, tmp_path, changes=changes, names=names) == []


def test_the_page_of_logs_works_as_it_is_written(shared: Any, tmp_path: Path) -> None:
    begin = pipeline("one\n", "page-logs", "orders-in", "orders-out")
    worker = min(each["workerId"] for each in shared.api.pages("/v1/workers", "workers"))
    try:
        assert wrong(shown_on("logs.md"), shared.url, tmp_path, begin, {"worker-1": worker}) == []
    finally:
        for logger in ("services.cluster", "root"):
            rc(shared.url, "log-level", logger, "RESET")


def test_the_page_of_transforms_works_as_it_is_written(shared: Any, tmp_path: Path) -> None:
    begin = ["printf 'id,name\\n1,Ada\\nx,Grace\\n' > /tmp/orders.csv"]
    assert wrong(shown_on("transforms.md"), shared.url, tmp_path, begin) == []


def test_the_page_of_workers_works_as_it_is_written(shared: Any, tmp_path: Path) -> None:
    begin = pipeline("one\n", "page-days", "days", "days-out")
    assert wrong(shown_on("workers.md"), shared.url, tmp_path, begin) == []


def test_the_page_of_reports_of_faults_works_as_it_is_written(shared: Any, tmp_path: Path) -> None:
    if shared.is_guarded:
        pytest.skip("it has no folder of `rocketconnect up`")
    begin = pipeline('"good"\n? bad\n', "page-faults", "orders-in -s value.converter=string", f"orders-out {JSON}")
    wait = "rocketconnect connector wait orders-out --state failed"
    changes = {"/var/lib/rocketconnect": str(shared.folder / "data"), "queue orders/": "queue page-faults/"}
    assert wrong(shown_on("diagnose.md"), shared.url, tmp_path, [BOTH, *begin, wait], changes) == []


def test_the_page_of_backups_works_as_it_is_written(tmp_path: Path) -> None:
    backup, restore = shown_on("backup.md")
    data = tmp_path / "rocketconnect-data"
    stores.prepare(data)
    with running(data) as ready:
        assert wrong([backup], str(ready["rest"]), tmp_path) == []
    # Nobody is there to be asked.
    asked = {"restore ": "restore --yes "}
    assert wrong([restore], str(ready["rest"]), tmp_path, changes=asked) == []
