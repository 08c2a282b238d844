"""SQL filters: brokers are asked about them before the first pull, as one that they can't read gives nothing, in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketmq_remoting.protocol.requests import check, check_filter_request

if TYPE_CHECKING:
    from rocketmq_remoting.model import MessageQueue, SqlFilter
    from rocketmq_remoting.routes import Routes


class Filters:
    """Asks each broker once about each filter. Safe for concurrent use."""

    def __init__(self, routes: Routes, client_id: str, timeout: float) -> None:
        self._routes = routes
        self._client_id = client_id
        self._timeout = timeout
        self._checked: set[tuple[str, SqlFilter]] = set()

    def check(self, queue: MessageQueue, group: str, wanted: SqlFilter) -> None:
        """Return when the broker of a queue takes a filter.

        Raises:
            InvalidFilter: the broker can't make sense of it, or doesn't allow any.
        """
        key = (queue.broker, wanted)
        if key not in self._checked:
            what = f"filter {wanted.expression!r} on topic {queue.topic}"
            request = check_filter_request(self._client_id, group, queue.topic, wanted)
            self._routes.submit(queue.broker, request, lambda frame: check(frame, what), timeout=self._timeout, what=what).result()
            self._checked.add(key)
