"""The options that sources of pages share."""

from rocketconnect_sdk.options import Kind, Option

POLL_INTERVAL = Option(
    "poll.interval",
    "The time from the beginning of one round to the next, which looks for new rows.",
    Kind.DURATION,
    "5s",
    minimum=0.01,
    maximum=86400,
)
DISCOVER_INTERVAL = Option("discover.interval", "How often it looks for new ones.", Kind.DURATION, "60s", minimum=1, maximum=86400)
