"""The whole control plane, and the tasks that use it, in simulated time under faults: see run.py. More seeds: `make simulate`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.mutations import ALL, Mutation
from tests.simulation.run import run

FEW = 30
SEEDS = int(os.environ.get("SIMULATION_SEEDS", "2000"))


@pytest.mark.parametrize("seeds", [range(FEW), pytest.param(range(FEW, SEEDS), marks=pytest.mark.slow)], ids=["few", "many"])
def test_whatever_happens_nothing_is_lost_doubled_or_stuck(seeds: range) -> None:
    broken = [f"seed {seed}: {result.broken}" for seed in seeds if (result := run(seed)).broken]
    assert broken == []


@pytest.mark.parametrize("mutation", ALL, ids=lambda mutation: mutation.name)
def test_a_bug_that_is_put_in_is_found(mutation: Mutation) -> None:
    found = next((result for seed in mutation.seeds if (result := run(seed, mutation)).broken), None)
    assert found is not None
    assert found.broken.partition(":")[0] in mutation.found_by, found.broken


def test_a_seed_is_the_same_run_bit_for_bit_in_every_process() -> None:
    def digests(hash_seed: str) -> list[str]:
        arguments = [sys.executable, "-m", "tests.simulation", "--digests", "--seeds", "2"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        root = Path(__file__).parents[2]
        output = subprocess.run(arguments, env=environment, cwd=root, check=True, capture_output=True, text=True).stdout
        return output.split()

    here = [run(seed).digest for seed in range(2)]
    assert len(set(here)) == 2
    assert digests("1") == digests("2") == here
