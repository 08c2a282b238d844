"""What a broker says of itself, in texts for people."""

from services.exporter.rocketmq.reading import numbers

TOLD = {
    "msgPutTotalTodayNow": "11",
    "remainHowManyDataToFlush": "2.1 KiB",
    "putTps": "0.5 0.25 ",
    "getTransferredTps": "1.0 2.0 3.0",
    "commitLogDiskRatio": "0.22",
    "putMessageDistributeTime": "[<=0ms]:0 [0~10ms]:7 [10~50ms]:1 [500ms~1s]:2 [10s~]:4 ",
    "commitLogDirCapacity": "Total : 252.0 GiB, Free : 232.8 GiB.",
    "putLatency99": "-1",
    "putMessageAverageSize": "NaN",
    "earliestMessageTimeStamp": "words",
    "brokerVersionDesc": "V5_5_0",
}


def test_numbers_are_read_with_their_units_and_what_is_unknown_is_left_out() -> None:
    read = dict(numbers(TOLD))
    assert read == {
        "msg_put_total_today_now": 11,
        "remain_howmanydata_toflush": 2.1 * 1024,
        "commitlog_disk_ratio": 0.22,
        "put_tps10": 0.5,
        "put_tps60": 0.25,
        "gettransfered_tps10": 1,
        "gettransfered_tps60": 2,
        "gettransfered_tps600": 3,
        "pmdt_0ms": 0,
        "pmdt_0to10ms": 7,
        "pmdt_10to50ms": 1,
        "pmdt_500to1s": 2,
        "pmdt_10stomore": 4,
        "commitlogdir_capacity_total": 252 * 2**30,
        "commitlogdir_capacity_free": 232.8 * 2**30,
    }


def test_an_older_broker_spells_what_it_hands_out_in_another_way() -> None:
    assert dict(numbers({"getTransferedTps": "4.0"})) == {"gettransfered_tps10": 4}


def test_a_broker_whose_java_speaks_german_is_read() -> None:
    read = dict(numbers({"commitLogDirCapacity": "Total : 1,5 TiB, Free : 512 B."}))
    assert read == {"commitlogdir_capacity_total": 1.5 * 2**40, "commitlogdir_capacity_free": 512}


def test_a_broker_that_says_nothing_yet_has_no_numbers() -> None:
    assert dict(numbers({"putMessageDistributeTime": "null", "putTps": "", "commitLogDirCapacity": "unknown"})) == {}
