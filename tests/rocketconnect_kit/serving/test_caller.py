import pytest

from rocketconnect_kit.serving.caller import Caller


@pytest.mark.parametrize(
    ("who", "said", "name"),
    [
        (Caller("alice", "10.0.0.7"), "mallory", "alice"),
        (Caller("", "10.0.0.7"), "mallory", "mallory"),
        (Caller("", "10.0.0.7"), "", "10.0.0.7"),
        (Caller("services", "10.0.0.7", passes_on=True), "alice", "alice"),
        (Caller("services", "10.0.0.7", passes_on=True), "", "services"),
    ],
)
def test_who_proved_its_name_has_it_and_a_service_names_for_whom_it_asks(who: Caller, said: str, name: str) -> None:
    assert who.named(said) == name
