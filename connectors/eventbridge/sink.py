"""Topics to targets, by rules."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from connectors.eventbridge.compiling import is_made, named, part_of, problems, rules_of
from connectors.eventbridge.options import OPTIONS, RULES, TARGETS
from connectors.http.signatures import FORMS
from connectors.http.texts import headers_of, origin_and_path
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http import login_problems
from rocketconnect_sdk.http.oauth import oauth_is_known, oauth_problems
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import Addressing, Connection, Template, WriteSink

if TYPE_CHECKING:
    from connectors.eventbridge.target import Target

_CHECK_SECONDS = 3.0


class EventBridgeSink(WriteSink):
    """Sends records by rules, with patterns and input transformers as Amazon EventBridge has them, to targets of HTTP."""

    name = "eventbridge_sink"
    guarantee = Guarantee.AT_LEAST_ONCE
    request_rows = 500
    options = (*OPTIONS, *WriteSink.options)

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, problems, _server_problems)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        return Addressing(made=rules_of(config))

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        return self.connecting(config, context)()

    def connecting(self, config: Config, context: TaskContext) -> Callable[[], Connection]:
        """See WriteSink: what is being sent again outlives a connection."""
        from connectors.eventbridge.book import Book, Policy
        from connectors.eventbridge.delivery import EventBridgeConnection

        book = Book()
        rules = {name: part_of(config, RULES, name) for name in config[RULES]}
        policies = {name: Policy(rule["maximum.attempts"], rule["maximum.age"]) for name, rule in rules.items()}

        def connected() -> Connection:
            targets = {name: _target(part_of(config, TARGETS, name)) for name in config[TARGETS]}
            return EventBridgeConnection(targets, policies, book, context.log)

        return connected


def _target(target: Config, most_seconds: float = math.inf) -> "Target":
    from connectors.eventbridge.target import Target
    from connectors.http.requests import Shape
    from connectors.http.signatures import Signer, check_secrets
    from rocketconnect_sdk.http import HttpClient, login_of, tls_of
    from rocketconnect_sdk.http.oauth import tokens_of

    check_secrets(target, "hmac.secret")
    seconds = min(most_seconds, target["request.timeout"])
    login, tokens, tls = login_of(target), tokens_of(target, seconds), tls_of(target)
    origin, path = origin_and_path(target["url"])
    headers = {"Content-Type": target["content.type"]}
    headers |= {name: each.source for name, each in headers_of(target["headers"]).items() if not is_made(each)}
    secret, form = target["hmac.secret"], target["hmac.form"]
    return Target(
        [HttpClient([origin], login, tls, tokens=tokens, seconds=seconds) for _ in range(target["request.parallel"])],
        Shape(target["method"], headers=headers, identity=target["idempotency.header"], fixed=not is_made(Template.of(path))),
        Signer([secret], form, target["hmac.header"] or FORMS[form]) if secret else None,
    )


def _server_problems(config: Config) -> Iterator[Problem]:
    for name in config[TARGETS]:
        target = part_of(config, TARGETS, name)
        # What stands behind the server may be something that nobody may see.
        shown = origin_and_path(target["url"])[0]
        found = (replace(each, value=shown) if each.key == "url" else each for each in run_checks(target, _away_problems))
        yield from named(TARGETS, name, found)


@preflight(away=("url", "Start the server, or correct the URL."), refused=("oauth.token.url", "Correct who we are there."))
def _away_problems(target: Config) -> Iterable[Problem]:
    is_known = oauth_is_known(target) and not REFERENCE.search(target["url"])
    # What is wrong with these is told already.
    if is_known and not [*login_problems(target), *oauth_problems(target)]:
        with closing(_target(target, _CHECK_SECONDS)) as there:
            there.ping()
    return ()
