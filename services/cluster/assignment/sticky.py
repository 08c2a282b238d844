"""Nothing moves except what must."""

from collections.abc import Mapping, Sequence

from services.cluster.assignment.loads import Loads
from services.cluster.assignment.model import Candidate, Demand, Move
from services.cluster.model import Key


def assign(workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> list[Move]:
    """Give out what nobody holds, and move nothing.

    A unit goes back to who had it last, otherwise to the capable worker that has the least for its weight. So a worker that joins
    gets what comes from then on.
    """
    loads = Loads(workers, demands, current)
    for demand in loads.free():
        returns = demand.last in loads.capable(demand)
        loads.put(demand.key, demand.last if returns else loads.least_loaded(demand))
    return loads.moves()
