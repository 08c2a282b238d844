"""The options that sources of pages share."""

from rocketconnect_sdk.options import Kind, Option

POLL_INTERVAL = Option(
    "poll.interval",
    "So long after the beginning of one round the next one begins, which looks for new rows.",
    Kind.DURATION,
    "5s",
    minimum=0.01,
    maximum=86400,
)
DISCOVER_INTERVAL = Option("discover.interval", "So often new ones are looked for.", Kind.DURATION, "60s", minimum=1, maximum=86400)
