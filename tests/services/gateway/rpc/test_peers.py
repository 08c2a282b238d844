"""Who is behind a connection that was passed on."""

from services.gateway.rpc.peers import Peer, Peers


def test_only_the_port_of_the_gateway_s_own_address_tells_who_calls() -> None:
    peers, alice = Peers(), Peer("10.0.0.1", "alice")
    peers.add(51234, alice)
    assert peers.of("ipv4:127.0.0.1:51234") == alice
    # Anybody on this machine can bind the same number of another address.
    assert peers.of("ipv4:127.0.0.2:51234") is None
    assert peers.of("ipv6:%5B::1%5D:51234") is None
    assert peers.of("unix:51234") is None
    peers.remove(51234)
    assert peers.of("ipv4:127.0.0.1:51234") is None
