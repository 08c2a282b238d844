import json
import re
from typing import Any

import httpx

from services.gateway.api.rules import rules
from services.gateway.pages import docs, openapi


async def test_overview_lists_what_answers_and_every_link_works(rest: httpx.AsyncClient) -> None:
    answer = await rest.get("/overview")
    assert answer.headers["content-type"].startswith("text/html")
    links = re.findall(r'href="([^"]+)"', answer.text)
    assert {"/v1/docs", "/v1/openapi.json", "/v1/connectors"} <= set(links)
    for link in links:
        assert (await rest.get(link)).status_code == 200, link
    assert "GET /connectors/{name}/stop" in answer.text


async def test_pages_load_nothing_from_elsewhere_and_forbid_it(rest: httpx.AsyncClient) -> None:
    for path in ("/overview", "/v1/docs"):
        answer = await rest.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not re.search(r'(src|href)="https?:', answer.text)
        assert "<script" not in answer.text


async def test_openapi_is_served_as_it_was_generated(rest: httpx.AsyncClient) -> None:
    assert (await rest.get("/v1/openapi.json")).json() == openapi()


def test_openapi_has_every_route_and_says_what_each_part_is_for() -> None:
    document = openapi()
    assert {(verb.upper(), path) for path, verbs in document["paths"].items() for verb in verbs} == {
        (rule.verb, rule.template) for rule in rules()
    }
    for verbs in document["paths"].values():
        for operation in verbs.values():
            assert operation["summary"]
            assert all(parameter["description"] for parameter in operation["parameters"])
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"], name
        if name != "Problem":
            assert all(field["description"] for field in schema.get("properties", {}).values()), name


def test_every_reference_of_the_openapi_document_leads_somewhere() -> None:
    document = openapi()
    names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document)))
    assert references
    assert references <= names


def test_docs_show_every_operation_and_escape_what_they_show() -> None:
    document: dict[str, Any] = openapi()
    document["paths"]["/v1/connectors"]["get"]["description"] = "<script>alert(1)</script>"
    text = docs(document)
    assert "<script>" not in text
    for rule in rules():
        assert f"<code>{rule.verb} {rule.template}</code>" in text
    anchors = set(re.findall(r'href="#([^"]+)"', text))
    assert anchors <= set(re.findall(r'id="([^"]+)"', text))
