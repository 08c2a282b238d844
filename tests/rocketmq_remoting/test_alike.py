from rocketmq_remoting import MessageQueue, queue_alike


def queues(topic: str, **brokers: int) -> list[MessageQueue]:
    return [MessageQueue(topic, broker, number) for broker, count in brokers.items() for number in range(count)]


def test_a_queue_is_like_the_one_of_the_same_broker_and_number() -> None:
    assert queue_alike("b", 2, queues("t", a=4, b=4)) == MessageQueue("t", "b", 2)


def test_of_a_broker_that_is_not_there_all_queues_go_to_one_and_keep_their_numbers() -> None:
    found = [queue_alike("else", number, queues("t", a=4, b=4)) for number in range(4)]
    assert [queue.queue_id for queue in found] == [0, 1, 2, 3]
    assert len({queue.broker for queue in found}) == 1
    assert found == [queue_alike("else", number, queues("t", b=4, a=4)) for number in range(4)]


def test_where_there_are_fewer_queues_several_share_one() -> None:
    assert [queue_alike("a", number, queues("t", a=2)).queue_id for number in range(5)] == [0, 1, 0, 1, 0]
