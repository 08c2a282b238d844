"""What a connector asks of a worker."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from rocketconnect_sdk.configuration.runtime_options import CLASS
from services.cluster.assignment.model import Candidate, Demand
from services.cluster.model import Key

LABELS_OPTION = "worker.labels"


def demand_of(key: Key, config: Mapping[str, str]) -> Demand:
    """Return what a unit asks of a worker, as the configuration of its connector says.

    `worker.labels` is a list such as `spark=3.5,zone=a`; a part without "=" asks for that label with an empty value.
    """
    return Demand(key, config.get(CLASS.key, ""), _labels(config.get(LABELS_OPTION, "")))


@lru_cache(maxsize=1024)
def _labels(text: str) -> frozenset[tuple[str, str]]:
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    return frozenset({name.strip(): value.strip() for name, _, value in parts}.items())


def why_nobody(demand: Demand, workers: Sequence[Candidate], drained: Sequence[Candidate] = ()) -> str:
    """Return why none of the workers can take the unit, and what would change that. Those that are `drained` take nothing."""
    could = sorted(worker.id for worker in drained if worker.can_take(demand))
    if could:
        return (
            f"only executors that are drained could take it ({', '.join(could)}): start another, "
            f"or let one work again with `rocketconnect worker undrain {could[0]}`"
        )
    known = [*workers, *drained]
    if not known:
        return "no executor is registered: start one; `rocketconnect up` starts again by itself what has ended"
    if not any(demand.plugin in worker.plugins for worker in known):
        return (
            f"no executor offers plugin {demand.plugin}: start one that has it installed, or correct {CLASS.key} "
            "(the list of plugins says what is offered)"
        )
    labels = ",".join(f"{name}={value}" for name, value in sorted(demand.labels))
    return f"no executor that offers plugin {demand.plugin} has the labels {labels}: start one with them, or change {LABELS_OPTION}"
