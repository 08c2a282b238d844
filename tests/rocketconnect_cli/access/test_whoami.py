"""`rocketconnect whoami`."""

import json

import pytest

from tests.rocketconnect_cli.conftest import RestFactory, run

NOBODY = {"name": "", "role": "ROLE_UNSPECIFIED", "methods": []}
ALICE = {"name": "alice", "role": "ROLE_WRITE", "methods": ["a/B"]}


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        (ALICE, "alice, with the role write\n"),
        ({**ALICE, "expireTime": "2026-12-31T00:00:00Z"}, "alice, with the role write, until 2026-12-31T00:00:00Z\n"),
        (NOBODY, "Nobody: this gateway asks nobody who calls, so everybody may do everything.\n"),
    ],
)
def test_the_gateway_says_who_one_is(rest_factory: RestFactory, caller: dict[str, object], said: str) -> None:
    rest = rest_factory(200, caller)
    answer = run(rest.url, "whoami")
    assert (answer.exit_code, answer.stdout, rest.asked) == (0, said, ["GET /v1/me"])
    assert json.loads(run(rest.url, "whoami", "-o", "json").stdout) == caller


def test_who_is_not_known_is_told_so(rest_factory: RestFactory) -> None:
    rest = rest_factory(401, {"detail": "who asks is not known", "reason": "NOT_KNOWN", "problems": []})
    answer = run(rest.url, "whoami")
    assert (answer.exit_code, "who asks is not known" in answer.stderr) == (1, True)
