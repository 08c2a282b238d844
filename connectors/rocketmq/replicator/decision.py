"""What is to be done for a topic or a consumer group that is set in one way there and in another way here. Pure.

The names are those of RocketMQ: of TopicConfig, TopicAttributes and SubscriptionGroupConfig.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from json import dumps
from typing import Generic, TypeVar

from rocketmq_remoting import Permission, TopicConfig

T = TypeVar("T")
GroupConfig = Mapping[str, object]
"""A consumer group as a broker tells of it."""
_DEFAULTS = {"queue.type": "SimpleCQ", "cleanup.policy": "DELETE", "message.type": "NORMAL", "reserve.time": "-1"}
"""What an attribute means that a topic does not have."""
_FIXED = frozenset({"queue.type", "cleanup.policy"})
"""Attributes that a topic is made with, and keeps."""
_ALL = Permission.READ | Permission.WRITE
_RIGHTS = ("consumeEnable", "consumeBroadcastEnable")
_NUMBER_OF_QUEUES = "retryQueueNums"
_MOST_QUEUES = 65_536
"""Queues are never taken away again, and each client of a topic holds all of them: another cluster does not make more here."""
_SETTINGS = (
    "consumeFromMinEnable",
    "consumeMessageOrderly",
    "retryMaxTimes",
    "groupRetryPolicy",
    "notifyConsumerIdsChangedEnable",
    "groupSysFlag",
    "consumeTimeoutMinute",
)
"""All but the numbers of brokers (brokerId, whichBrokerWhenConsumeSlowly) and topics (subscriptionDataSet): others are here."""


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """What is to be done.

    Attributes:
        config: How it is to be here.
        attributes: Of its attributes those that are to be set; None: taken away.
        changes: What is changed by that, in words; empty: nothing is.
        left: What differs, and stays so, and why.
    """

    config: T
    attributes: Mapping[str, str | None]
    changes: tuple[str, ...]
    left: tuple[str, ...]


def merged_topics(configs: Iterable[TopicConfig]) -> TopicConfig:
    """A topic that several brokers have: the most queues and rights of any; where attributes differ, those of the first one."""
    return reduce(
        lambda one, other: replace(
            one,
            read_queues=max(one.read_queues, other.read_queues),
            write_queues=max(one.write_queues, other.write_queues),
            permission=one.permission | other.permission,
            order=one.order or other.order,
            attributes={**other.attributes, **one.attributes},
        ),
        configs,
    )


def merged_groups(configs: Iterable[GroupConfig]) -> GroupConfig:
    """A group that several brokers have: the rights of any; where all else differs, that of the first one."""
    return reduce(
        lambda one, other: {**other, **one, **{right: one.get(right) or other.get(right) for right in _RIGHTS if right in one}},
        configs,
    )


def of_topic(there: TopicConfig, here: TopicConfig | None, name: str, *, narrow: bool) -> Decision[TopicConfig]:
    """What is to be done for a topic on a broker.

    Args:
        there: As the other cluster has it.
        here: As the broker has it; None: it does not.
        name: What it is called here.
        narrow: Rights are taken away, too.
    """
    most = _MOST_QUEUES if here is None else max(_MOST_QUEUES, here.read_queues, here.write_queues)
    beyond = tuple(
        _too_many(key, queues)
        for key, queues in (("readQueueNums", there.read_queues), ("writeQueueNums", there.write_queues))
        if queues > most
    )
    there = replace(there, read_queues=min(there.read_queues, most), write_queues=min(there.write_queues, most))
    if here is None:
        wanted = replace(there, topic=name, system_flag=0, permission=there.permission if narrow else _ALL)
        right = _kept_right("perm", wanted.permission, there.permission)
        left_out = () if wanted.permission == there.permission else (right,)
        return Decision(wanted, dict(there.attributes), (f"made with {_described(wanted)}",), (*beyond, *left_out))
    wanted = replace(
        here,
        read_queues=max(there.read_queues, here.read_queues),
        write_queues=max(there.write_queues, here.write_queues),
        permission=there.permission if narrow else there.permission | here.permission,
        order=there.order,
    )
    changes = [
        f"{key} {_shown(before)} -> {_shown(after)}"
        for key, before, after in (
            ("readQueueNums", here.read_queues, wanted.read_queues),
            ("writeQueueNums", here.write_queues, wanted.write_queues),
            ("perm", here.permission, wanted.permission),
            ("order", here.order, wanted.order),
        )
        if before != after
    ]
    left = [
        _kept_queues(key, of_here, of_there)
        for key, of_here, of_there in (
            ("readQueueNums", here.read_queues, there.read_queues),
            ("writeQueueNums", here.write_queues, there.write_queues),
        )
        if of_here > of_there
    ]
    left += beyond
    if wanted.permission != there.permission:
        left.append(_kept_right("perm", wanted.permission, there.permission))
    attributes = _attributes(there.attributes, here.attributes, changes, left)
    return Decision(wanted, attributes, tuple(changes), tuple(left))


def of_group(there: GroupConfig, here: GroupConfig | None, name: str, *, narrow: bool) -> Decision[GroupConfig]:
    """What is to be done for a consumer group on a broker. See `of_topic`; groups keep their names."""
    if here is None:
        wanted = {key: there[key] for key in (*_RIGHTS, _NUMBER_OF_QUEUES, *_SETTINGS) if key in there}
        return Decision({"groupName": name, **wanted}, dict(_texts(there)), ("made",), ())
    followed = {key: there[key] for key in _SETTINGS if key in there}
    left = []
    if (queues := there.get(_NUMBER_OF_QUEUES)) is not None:
        if _number(here.get(_NUMBER_OF_QUEUES)) > _number(queues):
            left.append(_kept_queues(_NUMBER_OF_QUEUES, here[_NUMBER_OF_QUEUES], queues))
        else:
            followed[_NUMBER_OF_QUEUES] = queues
    for right in _RIGHTS:
        if right in there:
            if here.get(right) and not there[right] and not narrow:
                left.append(_kept_right(right, here[right], there[right]))
            else:
                followed[right] = there[right]
    changes = [
        f"{key} {_shown(here.get(key))} -> {_shown(value)}" for key, value in sorted(followed.items()) if here.get(key) != value
    ]
    attributes = _attributes(_texts(there), _texts(here), changes, left)
    return Decision({**here, **followed}, attributes, tuple(changes), tuple(left))


def _attributes(there: Mapping[str, str], here: Mapping[str, str], changes: list[str], left: list[str]) -> dict[str, str | None]:
    """The attributes that are to be set; what is said of them is added to `changes` and `left`."""
    found: dict[str, str | None] = {}
    for name in sorted({*there, *here}):
        wanted, now = there.get(name, _DEFAULTS.get(name)), here.get(name, _DEFAULTS.get(name))
        if wanted == now:
            continue
        if name in _FIXED:
            left.append(f"{name} is {_shown(now)}, there {_shown(wanted)}: a topic keeps what it was made with")
        else:
            found[name] = wanted
            changes.append(f"{name} {_shown(now)} -> {_shown(wanted)}")
    return found


def _described(config: TopicConfig) -> str:
    parts = [f"readQueueNums {config.read_queues}", f"writeQueueNums {config.write_queues}", f"perm {_shown(config.permission)}"]
    parts += ["order true"] if config.order else []
    return ", ".join((*parts, *(f"{name} {value}" for name, value in sorted(config.attributes.items()))))


def _kept_queues(key: str, here: object, there: object) -> str:
    return f"{key} is {_shown(here)}, there {_shown(there)}: queues are never taken away"


def _too_many(key: str, there: int) -> str:
    return f"{key} is {there} there: more than {_MOST_QUEUES} are not made here"


def _kept_right(key: str, here: object, there: object) -> str:
    return f"{key} is {_shown(here)}, there {_shown(there)}: rights are taken away with rights.narrow=true alone"


def _texts(config: GroupConfig) -> Mapping[str, str]:
    found = config.get("attributes")
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _shown(value: object) -> str:
    if isinstance(value, Permission):
        return "".join(letter for right, letter in ((Permission.READ, "R"), (Permission.WRITE, "W")) if right in value) or "none"
    return value if isinstance(value, str) else "none" if value is None else dumps(value)
