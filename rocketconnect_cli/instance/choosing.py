"""Which ports the services of an instance get."""

from collections.abc import Mapping

from rocketconnect_cli.embedded import ports
from rocketconnect_cli.embedded.errors import PortInUse
from rocketconnect_cli.embedded.rocketmq import BROKER, NAME_SERVER
from rocketconnect_cli.instance import topology


def choose(rest: int, metrics: int, executors: int, inner: Mapping[str, int], kept: Mapping[str, int]) -> topology.Ports:
    """Return those that were asked for, else those of the last time where they are free, else any free ones.

    Args:
        rest: The one of REST; 0: not asked for.
        metrics: The one of the exporter; 0: not asked for.
        executors: How many there are.
        inner: Others that were asked for, by names (topology.inner_ports).
        kept: Those of the last time, by names.

    Raises:
        PortInUse: one that was asked for is taken; or no port is free.
    """
    wanted = [("REST", rest, "--rest-port"), ("metrics", metrics, "--metrics-port")]
    # RocketMQ's own are looked at where it is prepared: it needs some beside them.
    wanted += [(name, port, "--port") for name, port in inner.items() if name not in (NAME_SERVER, BROKER)]
    for what, port, option in wanted:
        if port and not ports.is_free(port):
            msg = f"port {port} for {what} is in use: stop what listens there, or give another with {option} (0: any free one)"
            raise PortInUse(msg)
    taken: set[int] = {0, rest, metrics, *inner.values()}

    def free() -> int:
        while (port := ports.choose()) in taken:
            pass
        taken.add(port)
        return port

    def settled(name: str, given: int) -> int:
        last = kept.get(name, 0)
        if given or last in taken:  # 0, when there was no last time
            return given or free()
        taken.add(port := ports.settle(name, 0, last, (0,), taken))
        return port

    rest, metrics = settled("rest", rest), settled("metrics", metrics)
    stores = {kind: settled(kind, inner.get(kind, 0)) for kind in topology.STORES}
    names = (f"executor-{number}" for number in range(1, executors + 1))
    return topology.Ports(rest, metrics, stores, tuple(settled(name, inner.get(name, 0)) for name in names))
