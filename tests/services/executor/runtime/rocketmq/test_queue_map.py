from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from services.executor.runtime.rocketmq.queue_map import deal, queue_of_key, queue_of_partition

keys = st.lists(st.none() | st.binary(max_size=4), max_size=50)


def test_queues_are_chosen_by_the_crc32_that_is_documented() -> None:
    assert queue_of_key(b"key", 8) == crc32(b"key") % 8
    assert queue_of_partition("a.txt", 8) == crc32(b"a.txt") % 8


@given(st.text(max_size=5), keys, st.integers(1, 9))
def test_every_record_goes_to_one_queue_and_those_of_a_key_keep_their_order(
    partition: str, given_keys: list[bytes | None], queues: int
) -> None:
    dealt = deal(partition, given_keys, queues)
    seen = []
    for queue, indexes in dealt.items():
        assert 0 <= queue < queues
        mine = list(range(len(given_keys))) if indexes is None else indexes
        assert mine == sorted(mine)
        for index in mine:
            key = given_keys[index]
            assert queue == (queue_of_partition(partition, queues) if key is None else queue_of_key(key, queues))
        seen += mine
    assert sorted(seen) == list(range(len(given_keys)))


def test_records_without_keys_all_go_to_the_queue_of_their_partition() -> None:
    assert deal("p", None, 8) == {queue_of_partition("p", 8): None}
