"""Says that an address is a queue: what clients of JMS say by themselves."""

from typing import Any

from proton import UNDESCRIBED, Array, Data, symbol
from proton.reactor import LinkOption


class Queue(LinkOption):  # type: ignore[misc]  # it may not be there when types are looked at
    """The option of a link."""

    def apply(self, link: Any) -> None:
        """See LinkOption."""
        end = link.target if link.is_sender else link.source
        end.capabilities.put_object(Array(UNDESCRIBED, Data.SYMBOL, symbol("queue")))
