"""What Ivy is asked for."""

from xml.etree import ElementTree

from rocketconnect_kit.java import ivy
from rocketconnect_kit.java.ivy import Coordinates

EPOLL = Coordinates("io.netty", "netty-epoll", "4.1", "linux-x86_64")


def test_file_names_are_those_of_the_repository() -> None:
    assert Coordinates("g", "guava", "32.0.1-jre").file_name == "guava-32.0.1-jre.jar"
    assert EPOLL.file_name == "netty-epoll-4.1-linux-x86_64.jar"
    assert str(EPOLL) == "io.netty:netty-epoll:4.1:linux-x86_64"


def test_a_pinned_module_asks_for_each_jar_and_nothing_transitive() -> None:
    plain = Coordinates("io.netty", "netty-epoll", "4.1")
    module = ElementTree.fromstring(ivy.pinned_module([EPOLL, plain]))
    (dependency,) = module.iter("dependency")
    assert dependency.attrib == {
        "org": "io.netty",
        "name": "netty-epoll",
        "rev": "4.1",
        "transitive": "false",
        "conf": "default",
    }
    classifiers = [artifact.get("{http://ant.apache.org/ivy/maven}classifier") for artifact in module.iter("artifact")]
    assert classifiers == [None, "linux-x86_64"]


def test_another_repository_is_used_when_it_is_named() -> None:
    root = 'http://mirror.example/maven?a="1"&b=2'
    (resolver,) = ElementTree.fromstring(ivy.settings(root)).iter("ibiblio")
    assert resolver.get("root") == root
    (resolver,) = ElementTree.fromstring(ivy.settings(None)).iter("ibiblio")
    assert resolver.get("root") is None


def test_ranges_of_versions_are_looked_up_where_poms_may_name_some_and_nowhere_else() -> None:
    for with_poms, told in ((False, "false"), (True, "true")):
        (resolver,) = ElementTree.fromstring(ivy.settings(None, with_poms=with_poms)).iter("ibiblio")
        assert (resolver.get("usepoms"), resolver.get("useMavenMetadata")) == (told, told)


def test_proxy_variables_become_flags_of_java() -> None:
    proxies = {"https": "http://proxy.example:3128", "no": "localhost, .example.org"}
    assert ivy.proxy_flags(proxies) == [
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.example.org",
    ]
    assert ivy.proxy_flags({"no": "localhost"}) == []
