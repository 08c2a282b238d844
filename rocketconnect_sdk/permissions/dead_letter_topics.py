"""Which topics dead letters may be sent to: those whose names the operator of an executor allows.

A configuration is written by whoever may create a connector, so it does not say alone where an executor, with its rights at the
brokers, writes what connectors could not use: in a topic that others read, dead letters are damage. In a process that no executor
has started, nothing is limited.
"""

import os
from collections.abc import Mapping

from rocketconnect_sdk.permissions.names import is_named

DEAD_LETTER_TOPICS = "ROCKETCONNECT_DEAD_LETTER_TOPICS"
"""Patterns of names, separated by commas."""

USUAL = "*dlq*,*dead-letter*,*dead_letter*,*deadletter*"
"""What executors allow unless they are told otherwise: names that say what the topic is for, as RocketMQ's own %DLQ% does."""


def may_hold_dead_letters(topic: str, patterns: str) -> bool:
    """Whether patterns allow a topic; capital letters make no difference."""
    return is_named(topic.casefold(), patterns.casefold())


def setting_said(patterns: str) -> str:
    """What operators have to know of the setting: its names, and what it allows."""
    return f"--dead-letter-topics ({DEAD_LETTER_TOPICS}) {f'names those like {patterns}' if patterns.strip() else 'names none'}"


def problem(topic: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why dead letters of connectors of this process may not go to a topic; None: they may."""
    patterns = environment.get(DEAD_LETTER_TOPICS)
    if patterns is None or may_hold_dead_letters(topic, patterns):
        return None
    return f"is not a topic that this executor lets dead letters go to: its {setting_said(patterns)}"
