"""Secrets are hidden by their names, by their forms, and where they are known."""

import base64
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_cli.diagnosis.hiding import HIDDEN, LEAST, Hider

CANARY = "canary/7Yq2+x=9"
URL = "postgresql://app:p@ss/w0rd7Yq2@db:5432/shop"


@pytest.mark.parametrize(
    "line",
    [
        f"password={CANARY}",
        f"sasl.jaas.config=x required username=app password='{CANARY}';",
        f'{{"level": "info", "db.password": "{CANARY}"}}',
        json.dumps({"message": json.dumps({"password": CANARY})}),
        f"jdbc:mysql://db/shop?user=a&password={CANARY}&ssl=true",
        f"--rocketmq-secret-key={CANARY}",
        f"Authorization: Bearer {CANARY}",
        f"authorization: Basic {CANARY}",
        f"sent header bearer {CANARY}",
        f"token => {CANARY}",
        f"API_KEY: {CANARY}",
        f"aws.secret.access.key = {CANARY}",
        f"mysql://app:{CANARY}@db/shop",
        f"https://{CANARY}@example.com/x",
        f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
    ],
)
def test_what_stands_beside_the_name_of_a_secret_or_in_a_url_is_hidden(line: str) -> None:
    assert "7Yq2" not in Hider().text(f"before {line}\nbehind")
    assert Hider().text(f"before {line}\nbehind").startswith("before ")


def test_a_password_with_what_ends_one_in_a_url_is_hidden_whole() -> None:
    assert Hider().text(f"can't reach {URL} now") == "can't reach postgresql://app:***@db:5432/shop now"


@given(st.text(min_size=LEAST, max_size=40), st.text(max_size=5), st.text(max_size=5))
def test_a_known_secret_is_hidden_in_every_form_wherever_it_begins(secret: str, before: str, behind: str) -> None:
    hider = Hider()
    hider.know([secret])
    whole = f"{before}{secret}{behind}".encode("utf-8", "surrogatepass")
    for text in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), base64.b64encode(whole).decode()):
        assert text not in hider.text(f"<{text}>")


def test_a_document_keeps_references_and_numbers_and_hides_what_plugins_say_is_a_secret() -> None:
    hider = Hider()
    hider.know_keys(["sign.with"])
    config = {
        "password": "${file:/etc/s:db}",
        "source.sign.with": CANARY,
        "table": "orders",
        "tokens": [CANARY],
        "credentials": {"a": CANARY},
    }
    assert hider.document({"config": config, "secret": True, "n": 1}) == {
        "config": {
            "password": "${file:/etc/s:db}",
            "source.sign.with": HIDDEN,
            "table": "orders",
            "tokens": HIDDEN,
            "credentials": HIDDEN,
        },
        "secret": True,
        "n": 1,
    }


def test_a_reference_beside_its_name_stays() -> None:
    assert Hider().text('password=${env:DB} and "token": "${file:/s:a}"') == 'password=${env:DB} and "token": "${file:/s:a}"'


def test_what_follows_the_flag_of_a_secret_on_a_command_line_is_hidden() -> None:
    words = ["python", "--store-url", URL, "--rocketmq-secret-key", CANARY, "--token-file", "/run/token", "--port", "1"]
    said = Hider().words(words)
    assert said == ["python", "--store-url", "postgresql://app:***@db:5432/shop", "--rocketmq-secret-key", HIDDEN, *words[5:]]


@pytest.mark.parametrize(
    "piece", ["a", "token", "://", "://a:", "password=", "bearer ", '"', "\\", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaaa."]
)
def test_a_long_line_takes_no_longer_than_its_length(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    began = time.process_time()
    Hider().text(text)
    assert time.process_time() - began < 5
