"""Each kind of task refuses records at the stages that it is made of, and at no other: dead letters name them."""

import re
from pathlib import Path

import pytest

from rocketconnect_sdk.letters.dead_letters import STAGES
from rocketconnect_sdk.stages import DIRECT, SINK, SOURCE, Stage

_RUNTIME = Path(__file__).parents[2] / "services/executor/runtime"
_SHARED = {Stage.TRANSFORM, Stage.POLL}
"""Those that files beside these folders look after: the chain of transforms, and what sources say that they could not read."""


@pytest.mark.parametrize(("folder", "stages"), [("source", SOURCE), ("sink", SINK), ("direct", DIRECT)])
def test_a_task_names_no_stage_that_it_does_not_have(folder: str, stages: tuple[Stage, ...]) -> None:
    texts = [path.read_text() for path in (_RUNTIME / folder).rglob("*.py")]
    named = {Stage[name] for text in texts for name in re.findall(r"Stage\.([A-Z]+)", text)}
    assert named <= set(stages)
    assert folder == "direct" or set(stages) - named <= _SHARED


def test_every_stage_has_a_name_in_dead_letters_and_a_task_that_has_it() -> None:
    assert set(STAGES) == set(Stage) == {*SOURCE, *SINK, *DIRECT}
