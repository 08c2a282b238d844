"""Redis, by the protocol of its replicas."""

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE
from rocketconnect_sdk.translations.tables import Named, Nothing, Table

_FROM_NOW = ("LAST_OFFSET", "LAST_OFFSET_FORCE")
_FROM_PLACE = ("", "CUSTOM_OFFSET", "CUSTOM_OFFSET_FORCE")


def _server(draft: Draft) -> None:
    draft.address("redis", "redisAddr", "redisPort")
    mode, place = draft.take("syncMod").upper(), draft.take("offset", default="-1")
    if mode in _FROM_NOW:
        draft.set("snapshot.mode", "never", "syncMod")
    elif mode not in _FROM_PLACE:
        draft.refuse("syncMod", "is no way to read there is", f"Write one of {', '.join((*_FROM_NOW, *_FROM_PLACE[1:]))}.")
    elif place in ("-1", "0"):
        draft.set("snapshot.mode", "initial", "syncMod")
    else:
        draft.refuse("offset", "is a place in the stream, and places are positions here", "Leave it out, and set the position.")
    draft.drop("replId", "it belongs to the position")


def _commands(text: str) -> str:
    return "" if text == "*" else text


_EVENTS = Nothing("commands that can't be sent yet wait in spool.bytes")

TABLES = (
    Table(
        "redis_replication_source",
        (f"{PACKAGE}redis.connector.RedisSourceConnector",),
        {
            "redisPassword": Named("password"),
            "commands": Named("commands", _commands),
            "timeout": Nothing("a server that is away is waited for"),
            "eventCommitRetryTimes": _EVENTS,
            "eventCommitRetryInterval": _EVENTS,
        },
        _server,
    ),
)
