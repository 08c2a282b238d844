"""What people do with the console, in a real browser in front of `rocketconnect up`. Each test goes by what the page shows."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rocketmq_remoting import Client, Message
from tests.console.browser import Page, browsing
from tests.console.conftest import WRONG, Started
from tests.processes import wait_until
from tests.servers.mariadb import PASSWORD, Mariadb

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_of_a_sink_that_failed_the_page_names_the_cause_and_its_button_starts_it_again(started: Started, page: Page) -> None:
    target = started.folder / "mended.txt"
    config = {"connector.class": "file_lines", "engine": "native", "topics": "orders", "value.converter": "string"}
    started.create("mended", {**config, "filename": str(target)})
    wait_until(lambda: len(started.lines("mended.txt")) > 0, 120)
    page.show(f"{started.url}#/connectors/mended")
    page.click("button", "Stop")
    page.click("dialog button", "Stop")
    page.sees("It has no tasks")
    target.unlink()
    target.mkdir()
    page.click("button", "Resume")
    page.click("dialog button", "Resume")
    page.sees("Failed", "Is a directory")
    page.show(f"{started.url}#/")
    page.until("document.querySelector('tbody tr')?.innerText.includes('Is a directory')", "what is wrong first, with its cause")
    page.click("a", "mended")
    target.rmdir()
    page.click("button", "Restart")
    page.write("dialog input", "the directory is gone")
    page.click("dialog button", "Restart")
    page.until("!document.body.innerText.includes('Is a directory') && /Idle|Running/.test(document.querySelector('h1').innerText)")
    page.click("a", "History")
    page.sees("the directory is gone")


def test_a_dead_letter_is_text_is_corrected_and_replayed_and_the_sink_takes_it(started: Started, page: Page) -> None:
    page.show(started.url)
    page.click("a", "dead letters: 2")
    page.sees("2 dead letters in orders-dead wait", "RecordError", "Converter")
    page.click("tbody a")
    page.sees("Dead letter", WRONG)
    page.click("button", "Hex")
    page.sees("3c 73 63 72 69 70 74")
    page.click("button", "Correct")
    page.write("textarea", '{"id": 7,')
    page.click("button", "Store")
    page.sees("It was refused", "JSON")
    page.write("textarea", '{"id": 7, "was": "mended"}')
    page.click("button", "Store")
    page.sees("It is stored", "edited")
    page.click("button", "Replay")
    page.sees("becomes a record")
    page.click("dialog button", "Replay 1")
    page.sees("All is sent: 1", "orders-out has taken all of them")
    assert [line for line in started.lines("out.txt") if "mended" in line] == ['{"id":7,"was":"mended"}']
    page.click("a", "All dead letters")
    page.sees("replayed", "1 dead letters in orders-dead wait")
    assert page.run("window.hit") is None


def test_a_dead_letter_of_a_mebibyte_is_shown_in_part_and_the_rest_on_demand(started: Started, page: Page) -> None:
    page.show(f"{started.url}#/connectors/orders-out/letters")
    page.click("tbody tr:last-child a")
    page.sees("no JSON", "The first")
    assert "its end" not in page.text()
    while page.run("[...document.querySelectorAll('button')].some((each) => each.innerText === 'More')"):
        page.click("button", "More")
    page.sees("its end")
    page.click("button", "Correct")
    page.sees("It is too large for a field")


def test_messages_of_a_topic_are_shown_as_they_are_or_as_a_sink_reads_them(started: Started, page: Page) -> None:
    page.show(f"{started.url}#/topics")
    page.click("a", "orders")
    page.sees("orders-in", "orders-out", "left: nothing", '{"id": 4, "price": 12345678901234567890}', WRONG)
    page.click("summary", "Whole")
    page.sees("RCPOS")
    page.show(f"{started.url}#/topics/orders?start=first&as=%3Dorders-out&amount=30")
    page.sees("JSON is malformed", '{"id": 0, "price": 12345678901234567890}')
    assert page.run("window.hit") is None


def test_a_message_is_found_by_its_key(started: Started, page: Page) -> None:
    with Client(started.name_server) as client:
        client.create_topic("keyed", queues=1)
        (queue,) = client.queues("keyed")
        for number in range(3):
            client.send(queue, Message(b"the one" if number == 1 else b"another", keys=f"order-{number}"))
        client.barrier(queue.broker, 60)
        wait_until(lambda: client.lookup.find("keyed", "order-1") != [], 60)
    page.show(f"{started.url}#/topics/keyed?start=key&at=order-1")
    page.sees("the one", "order-1")
    assert "another" not in page.text()


def test_messages_that_come_are_followed(started: Started, page: Page) -> None:
    with Client(started.name_server) as client:
        client.create_topic("followed", queues=1)
        (queue,) = client.queues("followed")
        client.send(queue, Message(b"before"))
        client.barrier(queue.broker, 60)
        page.show(f"{started.url}#/topics/followed")
        page.sees("before")
        page.click("button", "Follow what comes")
        for text in ("came-1", "came-2"):
            client.send(queue, Message(text.encode()))
            for _ in range(3):
                # As when its tab is left and shown again.
                page.run("document.dispatchEvent(new Event('visibilitychange'))")
            page.sees(text)
        client.send(queue, Message(b"came-3"))
        page.sees("came-3")
        rows = page.run("[...document.querySelectorAll('.messages-found tbody tr')].map((each) => each.innerText)")
        texts = ("came-3", "came-2", "came-1", "before")
        assert [next(text for text in texts if text in row) for row in rows] == [*texts]
        page.click("button", "Stop following")


def test_a_connector_shows_how_it_was_before_its_page_was_opened(started: Started, page: Page) -> None:
    wait_until(lambda: len(started.api.request("GET", "/v1/connectors/orders-out/samples").get("samples", [])) > 1, 120)
    page.show(f"{started.url}#/connectors/orders-out")
    page.sees("an hour at most", "Records/s", "Left to do")
    points = "document.querySelector('.chart.rate polyline').getAttribute('points').split(' ').length"
    assert page.run(points) > 1


def test_a_worker_is_drained_and_takes_work_again(started: Started, page: Page) -> None:
    workers = "[...document.querySelectorAll('tr')].filter((each) => each.innerText.includes('worker-'))"
    first = f"{workers}.find((each) => each.innerText.includes('worker-1')).innerText"
    page.show(f"{started.url}#/cluster")
    page.click("button", "Drain")
    page.sees("its tasks move to other workers")
    page.click("dialog button", "Drain")
    page.until(f"{first}.includes('Drained') && /\\t0\\t/.test({first})", "a worker that is drained and has no tasks")
    page.click("button", "Undrain")
    page.click("dialog button", "Undrain")
    page.until(f"{first}.includes('Alive')", "a worker that takes work")


def test_tables_of_a_sink_are_compared_and_rows_that_differ_are_told(started: Started, page: Page) -> None:
    shop, copy = started.folder / "shop.db", started.folder / "copy.db"
    for path in (shop, copy):
        with closing(sqlite3.connect(path)) as database:
            database.execute('CREATE TABLE "order" (id INTEGER PRIMARY KEY, name TEXT)')
            database.executemany('INSERT INTO "order" VALUES (?, ?)', [(number, f"n{number}") for number in range(1500)])
            database.commit()
    with closing(sqlite3.connect(copy)) as database:
        database.execute('DELETE FROM "order" WHERE id = 7')
        database.execute("""UPDATE "order" SET name = 'x' WHERE id = 8""")
        database.execute("""INSERT INTO "order" VALUES (1501, 'y')""")
        database.commit()
    source = {"connector.class": "jdbc_source", "connection.url": f"sqlite:///{shop}", "topic": "shop", "mode": "bulk"}
    place = {"connection.url": f"sqlite:///{copy}", "table.name.format": "order"}
    sink = {"connector.class": "jdbc_sink", "topics": "shop", **place}
    for name, config in (("shop-in", source), ("shop-out", sink)):
        body = {"name": name, "config": config, "wantedState": "WANTED_STATE_PAUSED"}
        started.api.request("POST", "/v1/connectors", body=body)
    page.show(f"{started.url}#/connectors/shop-out")
    page.click("a", "Verify")
    page.write('input[step="any"]', "1000")
    page.click("button", "Compare")
    page.sees("Rows that differ: 3. They are looked at again.", "shop-in stands still (Paused)")
    page.click("button", "Stop comparing")
    page.sees("It was stopped before its end.")
    page.write('input[step="any"]', "0.5")
    page.write("textarea", "order=order")
    page.click("button", "Compare")
    page.sees("Rows that differ: 3.", "Repair…")
    cells = "[...document.querySelector('tbody tr').cells].map((cell) => cell.innerText)"
    assert page.run(cells) == ["order", "order", "1,500", "1,498", "1", "1", "1", "0", "0"]
    rows = "[...document.querySelectorAll('section tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"
    assert page.run(rows) == [["[7]", "Missing", ""], ["[8]", "Different", "name"], ["[1501]", "Extra", ""]]
    assert page.violations() == []
    page.click("button", "Repair…")
    page.sees("Rows that shop-in can't send again: 2.", "its delete.enabled is not true: 1", "Nothing of this can be repaired")
    page.click("dialog button", "Cancel")
    with closing(sqlite3.connect(copy)) as database:
        database.execute('DELETE FROM "order"')
        database.executemany('INSERT INTO "order" VALUES (?, ?)', [(number, f"n{number}") for number in range(1500)])
        database.commit()
    page.click("button", "Compare")
    page.sees("All is equal.")
    page.show(f"{started.url}#/connectors/orders-out/verify")
    page.click("button", "Compare")
    page.sees("Nothing can be compared:", "file_source")
    for name in ("shop-in", "shop-out"):
        started.api.request("DELETE", f"/v1/connectors/{name}")


@pytest.mark.mariadb
def test_rows_that_differ_are_sent_again_and_deleted_when_somebody_says_so(started: Started, page: Page, mariadb: Mariadb) -> None:
    def run(*statements: str) -> list[tuple[object, ...]]:
        with closing(mariadb.connect()) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    run("CREATE DATABASE shop", "CREATE DATABASE shop_copy", "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20))")
    run("INSERT INTO shop.item VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    started.api.request("PUT", "/v1/secrets/mariadb-password", body={"value": PASSWORD})
    user = {"username": "root", "password": "${keystore:mariadb-password}"}
    converters = {"key.converter": "json", "value.converter": "json"}
    place = {"hostname": "127.0.0.1", "port": str(mariadb.port), "database.include": "shop"}
    source = {"connector.class": "mysql_cdc_source", "topic": "items", "table.topic": "${topic}-${table}", **place}
    table = {"table.name.format": "item", "insert.mode": "upsert", "pk.mode": "record_key", "auto.create": "true"}
    url = f"mysql://127.0.0.1:{mariadb.port}/shop_copy"
    sink = {"connector.class": "jdbc_sink", "topics": "items-item", "connection.url": url, "delete.enabled": "true", **table}
    started.create("items-in", {**source, **user, **converters})
    started.create("items-out", {**sink, "user": "root", "password": user["password"], **converters})
    count = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'shop_copy' AND table_name = 'item'"
    wait_until(lambda: run(count) == [(1,)] and run("SELECT count(*) FROM shop_copy.item") == [(3,)], 180)
    run("DELETE FROM shop_copy.item WHERE id = 1", "UPDATE shop_copy.item SET name = 'x' WHERE id = 2")
    run("INSERT INTO shop_copy.item (id, name) VALUES (9, 'nine')")
    page.show(f"{started.url}#/connectors/items-out/verify")
    page.write('input[step="any"]', "3")
    page.click("button", "Compare")
    page.sees("Rows that differ: 3.", "Repair…")
    page.click("button", "Repair…")
    page.sees("Rows that items-in sends again: 2.", "Rows that items-out deletes, because items-in does not have them: 1.")
    page.click("dialog button", "Repair")
    page.sees("Rows that were sent again: 3.", "All is equal.")
    assert run("SELECT id, name FROM shop_copy.item ORDER BY id") == [(1, "one"), (2, "two"), (3, "three")]
    for name in ("items-out", "items-in"):
        started.api.request("DELETE", f"/v1/connectors/{name}")


PAGES = {
    "": "orders-out",
    "#/topics": "orders-in",
    "#/topics/orders": "12345678901234567890",
    "#/create": "file_lines",
    "#/create/file_lines": "filename",
    "#/change/orders-out": "errors.tolerance",
    "#/cluster": "worker-2",
    "#/cluster/levels": "worker-2",
    "#/cluster/secrets": "${keystore:orders-password}",
    "#/connectors/orders-out": "worker-",
    "#/connectors/orders-out/letters": "orders-dead",
    "#/connectors/orders-in/letters": "errors.deadletterqueue.topic.name",
    "#/connectors/orders-out/configuration": "errors.tolerance",
    "#/connectors/orders-out/positions": "orders/",
    "#/connectors/orders-out/verify": "orders-in",
    "#/connectors/orders-out/history": "127.0.0.1",
    "#/connectors/orders-out/log": "INFO",
}


def letter_page(started: Started) -> str:
    found: Any = started.api.request("GET", "/v1/connectors/orders-out/deadLetters")["deadLetters"]
    return f"#/connectors/orders-out/letters/{found[0]['id']}"


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("zh-CN", "dark")])
def test_no_page_has_a_violation_that_axe_finds_and_none_is_wider_than_a_telephone(
    started: Started, tmp_path: Path, language: str, theme: str
) -> None:
    against: dict[str, list[str]] = {}
    with browsing(tmp_path, language) as page:
        for address, shown in {**PAGES, letter_page(started): "orders/"}.items():
            page.is_like(theme=theme)
            page.show(f"{started.url}{address}")
            page.sees(shown)
            against[address] = page.violations()
            page.is_like(width=360, height=740, theme=theme)
            if page.run("document.documentElement.scrollWidth > innerWidth"):
                against[address].append("is wider than 360 points")
        assert page.troubles == []
    assert {address: found for address, found in against.items() if found} == {}
