from services.position import sightings
from services.position.sightings import Sightings


def test_an_id_is_as_old_as_the_first_time_that_it_was_seen_here() -> None:
    now = 50
    seen = Sightings(lambda: now)
    drawn = seen.new()
    assert seen.age(drawn) == 0
    now = 80
    assert (seen.age(drawn), seen.age(drawn + 1)) == (30, 0)
    now = 90
    assert (seen.age(drawn), seen.age(drawn + 1)) == (40, 10)
    assert seen.new() not in {0, drawn}


def test_what_is_forgotten_counts_as_just_seen() -> None:
    now = 0
    seen = Sightings(lambda: now)
    for each in range(1, sightings.MAXIMUM + 2):
        seen.age(each)
    now = 10
    assert seen.age(2) == 10
    assert seen.age(1) == 0
    assert len(seen._first) == sightings.MAXIMUM
