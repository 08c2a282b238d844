from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.owners import Owner
from rocketconnect_sdk.writes.notes import PLAN, Held, claim, generation_of, names_of, plan_of, task_of


def test_the_notes_of_tasks_alone_say_what_the_note_of_the_plan_would() -> None:
    assert plan_of({}) is None
    texts = claim([PLAN, "task-0"], Held({}, {"t/b/0": QueuePosition(7)}), Owner(2, 0, 5))
    del texts[PLAN]
    assert plan_of(texts) == claim([PLAN, "task-0"], Held(), Owner(2, 0, 5))[PLAN]
    texts |= claim([PLAN], Held(), Owner(1, 2, 9))
    assert plan_of(texts) == plan_of({name: text for name, text in texts.items() if name != PLAN})
    assert names_of(plan_of(texts), Owner(3, 0, 1)) == [PLAN, "task-0", "task-1", "task-2"]
    assert {task_of(name): generation_of(text) for name, text in texts.items() if name != PLAN} == {0: 2, 2: 1}
