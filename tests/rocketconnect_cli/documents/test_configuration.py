"""How the command line reads configurations."""

from pathlib import Path

import pytest

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.documents.configuration import changed, read


def test_a_json_file_becomes_texts(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"connector.class": "file_source", "max.tasks": 2, "follow": true}')
    assert read(file, []) == {"connector.class": "file_source", "max.tasks": "2", "follow": "true"}


def test_an_option_of_rocketmq_connect_that_is_an_object_is_taken_as_its_json(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    theirs = "org.apache.rocketmq.connect.elasticsearch.connector.ElasticsearchSourceConnector"
    file.write_text(f'{{"connector.class": "{theirs}", "index": {{"orders": {{"id": 1}}}}}}')
    assert read(file, [])["index"] == '{"orders": {"id": 1}}'
    file.write_text('{"connector.class": "elasticsearch_source", "index": {"orders": {"id": 1}}}')
    with pytest.raises(ApiError) as caught:
        read(file, [])
    assert [problem["key"] for problem in caught.value.problem["problems"]] == ["index"]


def test_a_properties_file_is_read_with_comments_and_spaces(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("# mine\n\nconnector.class = file_source\nfilename=/a=b\n")
    assert read(file, []) == {"connector.class": "file_source", "filename": "/a=b"}


def test_what_get_prints_is_read_as_its_configuration(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"name": "a", "config": {"max.tasks": 2, "topics": "t"}, "etag": "5", "revision": "1"}')
    assert read(file, ["topics=u"]) == {"max.tasks": "2", "topics": "u"}


def test_what_is_not_mentioned_stays_and_an_empty_value_is_a_value() -> None:
    stored = {"a": "1", "b": "2", "c": "3"}
    assert changed(stored, ["b=", "d=4"], ["a"]) == {"b": "", "c": "3", "d": "4"}
    assert stored == {"a": "1", "b": "2", "c": "3"}


def test_a_key_can_be_unset_only_when_it_is_there_and_not_set_at_once() -> None:
    with pytest.raises(ApiError) as caught:
        changed({"a": "1"}, ["a=2"], ["a", "b"])
    assert [(problem["key"], problem["reason"]) for problem in caught.value.problems] == [
        ("a", "is set and unset at once"),
        ("b", "is not in the configuration"),
    ]


def test_a_key_that_is_set_twice_is_refused_without_its_values(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text("a=1\n")
    twice = ["a=secret", "b=2", " a=other"]
    with pytest.raises(ApiError) as wrong:
        read(file, twice)
    assert [(each["key"], each["reason"]) for each in wrong.value.problems] == [("a", "is set twice")]
    assert "secret" not in str(wrong.value.problem)
    with pytest.raises(ApiError, match="can't be read"):
        changed({}, twice, [])


def test_pairs_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"a": "1", "b": "2"}')
    assert read(file, ["b=3", "c=x=y"]) == {"a": "1", "b": "3", "c": "x=y"}


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"a": null, "b": [1], "c": "fine"}')
    with pytest.raises(ApiError) as caught:
        read(file, ["nonsense"])
    assert caught.value.exit_code == Exit.WRONG
    assert [problem["key"] for problem in caught.value.problems] == ["a", "b", "nonsense"]


@pytest.mark.parametrize("text", ["{", '{"a": ' + "[" * 100_000, "just words"])
def test_text_that_is_no_configuration_is_a_problem_and_not_a_crash(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c"
    file.write_text(text)
    with pytest.raises(ApiError) as caught:
        read(file, [])
    assert caught.value.problems[0]["fix"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ApiError) as caught:
        read(tmp_path / "none.json", [])
    assert "none.json" in caught.value.problems[0]["key"]


@pytest.mark.parametrize("pair", ["a=\udcff", "\udcff=a"])
def test_what_is_not_utf8_is_a_problem_and_not_a_crash(pair: str) -> None:
    with pytest.raises(ApiError) as caught:
        read(None, [pair])
    assert "UTF-8" in caught.value.problems[0]["reason"]


def test_nothing_at_all_is_a_problem() -> None:
    with pytest.raises(ApiError, match="can't be read"):
        read(None, [])
