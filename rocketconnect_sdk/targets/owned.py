"""What a sink alone may write."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What has one owner: a second connector that wrote it would harm the first.

    Attributes:
        key: The option that names it.
        name: The same for the same target, however a configuration writes it: "file:///data/orders.csv". Holds no secret.
    """

    key: str
    name: str
