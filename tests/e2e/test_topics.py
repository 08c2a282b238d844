"""Topics from the command line, at the broker of a running instance."""

import json
import signal
import subprocess
import threading
from typing import Any

import pytest

from tests.e2e.console import COMMAND
from tests.processes import wait_until
from tests.spoken import rc

pytestmark = pytest.mark.e2e
HANG_SECONDS = 90


def topic(instance: Any, *words: str) -> tuple[int, str, str]:
    return rc(instance.url, "topic", *words)


def test_a_topic_is_created_filled_listed_and_looked_at(instance: Any) -> None:
    code, out, err = topic(instance, "create", "looked-at", "--queues", "2")
    assert (code, out.strip(), err) == (0, "looked-at created with 2 queues", "")
    assert topic(instance, "create", "looked-at", "--queues", "2")[1].strip() == "looked-at is there already, with 2 queues"
    code, _, err = topic(instance, "create", "looked-at", "--queues", "3")
    assert code == 4
    assert "2 queues" in err
    assert topic(instance, "create", "%RETRY%x")[0] == 2
    assert topic(instance, "peek", "looked-at")[1].strip() == "There are no messages to show."

    source = instance.folder / "looked-at.txt"
    source.write_text("one\ntwo\nthree\n")
    config = {"connector.class": "file_source", "topic": "looked-at", "filename": str(source)}
    made = instance.api.request("POST", "/v1/connectors", body={"name": "looked-at", "config": config})["connector"]
    command = [COMMAND, "topic", "tail", "looked-at", "--offset", "0", "-o", "json", "--url", instance.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tail:
        hang = threading.Timer(HANG_SECONDS, tail.kill)
        hang.start()
        assert tail.stdout is not None
        first = [json.loads(tail.stdout.readline()) for _ in range(3)]
        with source.open("a") as file:
            file.write("four\n")
        fourth = json.loads(tail.stdout.readline())
        tail.send_signal(signal.SIGINT)
        assert tail.wait(HANG_SECONDS) == 0
        hang.cancel()
    assert [record["record"]["value"] for record in (*first, fourth)] == ["one", "two", "three", "four"]
    assert {record["source"]["connectorUid"] for record in (*first, fourth)} == {made["uid"]}

    code, out, err = topic(instance, "peek", "looked-at", "-n", "1")
    assert (code, err) == (0, "")
    assert "four" in out
    assert "one" not in out
    assert f"from connector {made['name']}:" in out
    code, out, _ = topic(instance, "peek", "looked-at", "-c", "json", "-o", "json", "--since", "1h")
    assert code == 0
    assert {record["body"] for record in json.loads(out)["records"]} == {"one", "two", "three", "four"}
    assert topic(instance, "peek", "looked-at", "-c", "jsn")[0] == 2
    code, _, err = topic(instance, "peek", "lookd-at")
    assert (code, err.strip()) == (3, "Error: there is no topic 'lookd-at'; did you mean looked-at?")

    topics = {row["name"]: row for row in json.loads(topic(instance, "list", "-o", "json")[1])["topics"]}
    assert sum(int(queue.get("latest", 0)) for queue in topics["looked-at"]["queues"]) == 4
    assert not any(name.startswith(("%", "rmq_sys", "RMQ_SYS", "TBW102")) for name in topics)
    assert "rmq_sys_" in topic(instance, "list", "--all")[1].casefold()

    # What a connector writes is not deleted under it.
    code, _, err = topic(instance, "delete", "looked-at", "--yes")
    assert (code, "looked-at writes it; pause, stop or delete those first" in err) == (2, True)
    instance.api.request("POST", "/v1/connectors/looked-at:stop", body={})
    code, out, err = topic(instance, "delete", "looked-at", "--yes")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "looked-at deleted, with 4 messages"
    assert out.splitlines()[1].startswith("looked-at names it. ")
    assert topic(instance, "peek", "looked-at")[0] == 3
    assert topic(instance, "delete", "looked-at", "--yes")[0] == 3
    for internal in ("RCREPLAY_x", "rmq_sys_wheel_timer", "SCHEDULE_TOPIC_XXXX"):
        code, _, err = topic(instance, "delete", internal, "--yes")
        assert (code, "RocketConnect made for itself" in err) == (2, True)
    instance.api.request("DELETE", "/v1/connectors/looked-at")


def test_a_second_source_is_told_what_is_in_its_topic_and_who_reads_it(instance: Any) -> None:
    books, films = instance.folder / "told-books.csv", instance.folder / "told-films.csv"
    books.write_text("year,title\n1999,One\n")
    films.write_text("name,length\nTwo,90\n")

    def connector(verb: str, *name: str, **options: object) -> tuple[int, str]:
        pairs = [word for key, value in options.items() for word in ("-s", f"{key.replace('_', '.')}={value}")]
        code, out, err = rc(instance.url, "connector", verb, *name, *pairs)
        return code, out + err

    csv = {"connector_class": "file_source", "format": "csv", "columns": "infer", "topic": "told", "value_converter": "arrow"}
    code, said = connector("create", "told-books", filename=books, **csv)
    assert (code, "has messages" in said) == (0, False)
    assert connector("create", "told-out", connector_class="stdout", topics="told", value_converter="arrow")[0] == 0
    assert rc(instance.url, "connector", "wait", "told-books", "--state", "idle")[0] == 0
    # What takes longer than some seconds to be known is not told: on a busy machine it is asked for again.
    answers: list[str] = []

    def told() -> bool:
        if answers:
            instance.api.request("DELETE", "/v1/connectors/told-films")
        code, said = connector("create", "told-films", filename=films, **csv)
        assert code == 0
        answers.append(said)
        return "has messages with other columns, written by the connector told-books, than this source writes" in said

    wait_until(told, 120)
    said = answers[-1]
    assert "only those have year, title; only this source has name, length" in said
    assert "told-out reads this topic" in said
    # What another converter would make of it is told before anything is changed.
    code, said = connector("validate", "--name", "told-books", filename=books, **{**csv, "value_converter": "json"})
    assert code == 0
    assert "has messages of another form" in said
    assert "rows that value.converter=arrow packed, written by this connector" in said
    # Names that are nearly those of what is there.
    code, said = connector("validate", connector_class="stdout", topics="tolld")
    assert "Did you mean told?" in said
    code, said = connector("validate", filename=instance.folder / "told-book.csv", **csv)
    assert f"Did you mean {books}?" in said
    for name in ("told-out", "told-films", "told-books"):
        instance.api.request("DELETE", f"/v1/connectors/{name}")
