"""What a list of hosts allows."""

import pytest

from rocketconnect_sdk.permissions.hosts import Hosts, address_of, fix, of_host, of_urls, plain


def allowed(text: str, host: str, address: str = "", port: int | None = None) -> bool:
    name = plain(host)
    found = address_of(address or name)
    assert found is not None
    return Hosts.parse(text).may_reach(name, found, port)


def test_nothing_is_allowed_by_an_empty_list_and_all_but_metadata_by_a_star() -> None:
    assert not allowed("", "db.example", "93.184.216.34")
    assert allowed("*", "db.example", "93.184.216.34")
    assert allowed("*", "10.1.2.3")
    for address in ("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16"):
        assert not allowed("*", address), address
        assert not allowed("*,harmless.example", "harmless.example", address), address
        assert allowed(f"*,{address}", address), address
    assert allowed("169.254.0.0/16", "metadata.example", "169.254.169.254")


def test_a_name_stands_for_all_its_addresses_and_one_with_a_star_for_public_ones() -> None:
    assert allowed("db.corp", "DB.corp.", "10.0.0.5")
    assert not allowed("db.corp", "other.corp", "10.0.0.5")
    assert allowed("*.example.org", "a.b.example.org", "93.184.216.34")
    for address in ("10.0.0.5", "127.0.0.1", "192.168.1.1", "::1", "fd00::1", "169.254.1.1"):
        assert not allowed("*.example.org", "a.example.org", address), address
    assert allowed("*.example.org,10.0.0.0/8", "a.example.org", "10.0.0.5")
    assert not allowed("*.example.org", "example.org", "93.184.216.34")
    assert not allowed("*.example.org", "evilexample.org", "93.184.216.34")


def test_a_port_limits_what_stands_before_it() -> None:
    for text, host in (("db.corp:5432", "db.corp"), ("10.0.0.0/8:5432", "10.0.0.5"), ("[fd00::/8]:5432", "fd00::1")):
        address = "10.0.0.5" if host == "db.corp" else host
        assert allowed(text, host, address, 5432)
        assert allowed(text, host, address)
        assert not allowed(text, host, address, 22)
    assert allowed("fd00::1", "fd00::1", port=1)
    assert allowed("*:443", "x.example", "10.0.0.1", 443)
    assert not allowed("*:443", "x.example", "10.0.0.1", 80)


@pytest.mark.parametrize(
    "text",
    [
        "2852039166",
        "0xa9fea9fe",
        "0xA9.254.0251.0376",
        "169.254.43518",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
    ],
)
def test_an_address_is_known_in_every_form(text: str) -> None:
    assert str(address_of(text)) == "169.254.169.254"
    assert not allowed("*", text)


def test_what_is_no_list_is_told_with_all_that_is_wrong() -> None:
    for text in ("10.0.0.0/33", "a b", "db:0", "db:x", "db:70000", "http://db", "*db", "a.*", "1.2.3", "[fd00::1", "db:1:"):
        with pytest.raises(ValueError, match="write NAME"):
            Hosts.parse(f"fine.example,{text}")
    with pytest.raises(ValueError, match=r"'a/b', 'c:d' are no hosts"):
        Hosts.parse("a/b,ok,c:d")


def test_a_reason_names_the_host_the_list_and_who_can_change_it() -> None:
    told = Hosts.parse("db.corp, *.example.org")
    assert told.reason("x.corp", None, 5432) == (
        "x.corp:5432 is no host that this executor lets connectors speak to: "
        "its --connector-hosts (ROCKETCONNECT_CONNECTOR_HOSTS) names db.corp, *.example.org"
    )
    assert "public addresses alone" in told.reason("a.example.org", None, 443)
    assert "credentials" in told.reason("x", address_of("169.254.169.254"), 80)
    assert "names none" in Hosts.parse("").reason("x", None, None)
    assert "whoever runs the executors" in fix("x.corp")


def test_the_hosts_of_options_are_found() -> None:
    assert list(of_host("a, b,,[::1]")) == [("a", None), ("b", None), ("[::1]", None)]
    assert list(of_urls("jdbc:postgresql://DB:5432/x")) == [("db", 5432)]
    assert list(of_urls(("http://a", "https://[::1]:8443/p", "sqlite:////x", "http://b:x"))) == [("a", 80), ("::1", 8443)]


def test_names_are_compared_in_one_form() -> None:
    assert plain("Bücher.Example.") == "xn--bcher-kva.example"
    assert plain("0x7f.1") == "127.0.0.1"
    assert plain("[::1]") == "::1"
    assert plain("a..b") == "a..b"
