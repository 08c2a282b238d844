import pytest

from rocketconnect_kit.store import urls


@pytest.mark.parametrize(
    ("text", "hosts", "ports"),
    [
        ("postgresql://u:p%40w@a:1,b:2/d", "a,b", "1,2"),
        ("postgresql://u@a,b:2/d?sslmode=require", "a,b", "5432,2"),
        ("postgresql+psycopg://u@[::1]:1,[fe80::2]/d", "::1,fe80::2", "1,5432"),
    ],
)
def test_several_servers_are_written_as_other_clients_of_postgresql_take_them(text: str, hosts: str, ports: str) -> None:
    url = urls.parsed(text)
    assert (url.query["host"], url.query["port"], url.username, url.database) == (hosts, ports, "u", "d")
    assert urls.parsed(url.render_as_string(hide_password=False)) == url, "and it is the same when it is passed on"


def test_what_else_is_asked_of_several_servers_stays() -> None:
    url = urls.parsed("postgresql://u:p%40w@a,b/d?sslmode=require")
    assert (url.query["sslmode"], url.password) == ("require", "p@w")


@pytest.mark.parametrize("text", ["postgresql://u@a:1,b:x/d", "postgresql://u@a,/d", "postgresql://u@a:x/d", "nonsense"])
def test_a_url_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it is no URL"):
        urls.parsed(text)
