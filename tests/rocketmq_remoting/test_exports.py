"""The public names."""

import rocketmq_remoting


def test_all_names_what_is_public_sorted_and_present() -> None:
    names = rocketmq_remoting.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name))
    assert all(hasattr(rocketmq_remoting, name) for name in names)


def test_every_error_tells_whether_trying_again_can_help() -> None:
    errors = {
        name: value
        for name in rocketmq_remoting.__all__
        if isinstance(value := getattr(rocketmq_remoting, name), type) and issubclass(value, Exception)
    }
    for name, error in errors.items():
        if name != "RocketMQError":
            retriable = issubclass(error, rocketmq_remoting.RetriableError)
            assert retriable != issubclass(error, rocketmq_remoting.PermanentError), name
        if issubclass(error, rocketmq_remoting.RetriableError) and name != "RetriableError":
            refused = issubclass(error, rocketmq_remoting.RequestRejected)
            assert refused != issubclass(error, rocketmq_remoting.OutcomeUnknown), name
