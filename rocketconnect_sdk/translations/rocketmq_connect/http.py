"""Requests of HTTP."""

import json
from urllib.parse import urlencode

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE
from rocketconnect_sdk.translations.tables import Named, Nothing, Table, Unable

_KINDS = ("", "NONE", "BASIC_AUTH", "API_KEY_AUTH", "OAUTH_AUTH")
_OAUTH = "sends more to the server of tokens"


def _request(draft: Draft) -> None:
    url = draft.take("url")
    if url and "//" not in url:
        url = f"http://{url}"
    if query := {**_object(draft, "queryParameters"), **_object(draft, "fixedQueryParameters")}:
        url += ("&" if "?" in url else "?") + urlencode(query)
    if url:
        draft.set("url", url, "url")
    headers = {**_object(draft, "headerParameters"), **_object(draft, "fixedHeaderParameters")}
    wrong = [name for name, text in headers.items() if "," in text]
    if wrong:
        draft.refuse("headerParameters", f"has a comma in {', '.join(wrong)}, and commas divide headers here", "Leave it out.")
    elif headers:
        draft.set("headers", ",".join(f"{name}={text}" for name, text in headers.items()), "headerParameters")
    _login(draft)


def _login(draft: Draft) -> None:
    kind = draft.take("authType").upper()
    if kind not in _KINDS:
        draft.refuse("authType", "is no way to log in there is", f"Write one of {', '.join(_KINDS[1:])}.")
    name, key = draft.take("apiKeyUsername"), draft.take("apiKeyPassword")
    token = draft.take("token")
    if kind == "API_KEY_AUTH":
        draft.set("api.key.header", name, "apiKeyUsername")
        draft.set("api.key", key, "apiKeyPassword")
    if token:
        draft.set("api.key.header", "token", "token")
        draft.set("api.key", token, "token")
    if kind != "BASIC_AUTH":
        draft.take("basicUsername", "basicPassword")
    if kind != "OAUTH_AUTH":
        for each in [each for each in draft.left if each.startswith("oAuth")]:
            draft.take(each)
    else:
        draft.default("oauth.client.auth", "body")


def _object(draft: Draft, key: str) -> dict[str, str]:
    """The JSON object of an option, with texts."""
    text = draft.take(key)
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        draft.refuse(key, "is no JSON object", 'Write {"NAME": "TEXT"}.')
        return {}
    return {name: each if isinstance(each, str) else json.dumps(each) for name, each in value.items()}


def _milliseconds(text: str) -> str:
    return f"{int(text)}ms"


_PROXY = Unable("requests go through no proxy", "Leave it out, and let the executor reach the server.")

TABLES = (
    Table(
        "http_sink",
        (f"{PACKAGE}http.HttpSinkConnector", f"{PACKAGE}http.HttpSinkTask"),
        {
            "method": Named("method", str.upper),
            "timeout": Named("request.timeout", _milliseconds),
            "concurrency": Named("request.parallel"),
            "basicUsername": Named("user"),
            "basicPassword": Named("password"),
            "oAuthEndpoint": Named("oauth.token.url"),
            "oAuthClientId": Named("oauth.client.id"),
            "oAuthClientSecret": Named("oauth.client.secret"),
            "oAuthHttpMethod": Unable("tokens are asked for by POST", "Leave it out.", ("post",)),
            "oAuthHeaderParameters": Unable(_OAUTH, "Use oauth.scope and oauth.parameters.", ("{}",)),
            "oAuthQueryParameters": Unable(_OAUTH, "Use oauth.scope and oauth.parameters.", ("{}",)),
            "oAuthBody": Unable(_OAUTH, "Use oauth.scope and oauth.parameters.", ("{}",)),
            "socks5Endpoint": _PROXY,
            "socks5UserName": _PROXY,
            "socks5Password": _PROXY,
            "useKMS": Nothing("secrets are references"),
            "accountId": Nothing("secrets are references"),
        },
        _request,
    ),
)
