"""Attacks by what a configuration tells Spark: each is refused before it is stored, and where it was stored before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from rocketconnect_sdk.permissions import spark_profiles
from rocketconnect_sdk.permissions.spark_profiles import PROFILES, ProfilesWrong, is_secret, problems, read_profiles, settings
from rocketconnect_sdk.spark.needs import NOTHING
from services.executor.contract.assignment import Assigned, Key
from services.executor.hosts.placement import Profile, profile_of

Start = Callable[..., Any]
CANARY = "c4n4ry-for-spark"
ATTACKS = {
    "spark.jars": f"http://{CANARY}/evil.jar",
    "spark.jars.packages": f"org.example:{CANARY}:1",
    "spark.plugins": f"org.example.{CANARY}",
    "spark.driver.extraJavaOptions": f"-XX:OnOutOfMemoryError={CANARY}",
    "spark.driver.defaultJavaOptions": f"-agentpath:{CANARY}",
    "spark.executorEnv.LD_PRELOAD": f"/tmp/{CANARY}",
    "spark.pyspark.python": f"/tmp/{CANARY}",
    "spark.remote": f"sc://{CANARY}",
    "spark.master": f"spark://{CANARY}:7077",
    "spark.sql.extensions": f"org.example.{CANARY}",
    "spark.hadoop.fs.s3a.endpoint": f"http://{CANARY}",
    "spark.io.compression.codec": f"org.example.{CANARY}",
    "spark.eventLog.dir": f"/tmp/{CANARY}",
}


def sink(**spark: str) -> dict[str, str]:
    return {"connector.class": "file_sink", "topics": "t", **spark}


def test_settings_that_run_code_or_reach_hosts_are_refused_all_at_once_and_no_value_is_repeated(
    start_executor: Start, plane: Any, tmp_path: Path
) -> None:
    executor = start_executor(read_roots="/", write_roots="/")
    plane.wait_for(lambda: plane.registrations)
    config = {**sink(**ATTACKS), "filename": f"{tmp_path}/out"}
    answer = executor.stub().ValidateConnector(pb.ValidateConnectorRequest(name="x", config=config), timeout=60)
    refused = {one.key for one in answer.problems if "is not for a connector to set" in one.reason}
    assert refused == ATTACKS.keys()
    assert CANARY not in str(answer)
    assert set(answer.secret_keys) >= ATTACKS.keys()


def test_a_value_of_a_harmless_setting_that_is_more_than_a_value_is_refused() -> None:
    for value in ("1g -XX:OnError=x", "$(id)", "1g\nspark.jars x", "", "-Xmx1g", "a" * 65):
        (problem,) = problems(sink(**{"spark.driver.memory": value}), {})
        assert problem.key == "spark.driver.memory"
        assert settings(sink(**{"spark.driver.memory": value}), "") == {}


def test_a_configuration_that_was_stored_before_reaches_spark_without_what_is_not_allowed() -> None:
    config = {**sink(**ATTACKS), "spark.sql.shuffle.partitions": "3"}
    assigned = Assigned(Key("uid", 0), "out", 1, 1, 1, "SINK", config, {})
    assert profile_of(assigned, "", lambda _: NOTHING, lambda _, __: "spark") == Profile((("spark.sql.shuffle.partitions", "3"),))


def test_a_profile_gives_what_a_connector_may_not_set_and_the_connector_says_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    file.write_text('[big]\n"spark.master" = "spark://host:7077"\n"spark.driver.memory" = "8g"\n"spark.ui.enabled" = true\n')
    config = sink(**{"spark.profile": "big", "spark.driver.memory": "2g", "spark.hadoop.fs.s3a.secret.key": "${env:KEY}"})
    assert list(problems(config, {PROFILES: str(file)})) == []
    assert settings(config, str(file)) == {
        "spark.master": "spark://host:7077",
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "true",
        "spark.hadoop.fs.s3a.secret.key": "${env:KEY}",
    }


def test_a_profile_that_nobody_defined_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    file.write_text("[big]\n[small]\n")
    (problem,) = problems(sink(**{"spark.profile": "huge"}), {PROFILES: str(file)})
    assert (problem.key, problem.value, problem.fix) == ("spark.profile", "huge", "Use one of big, small.")
    (problem,) = problems(sink(**{"spark.profile": "huge"}), {})
    assert "--spark-profiles" in problem.fix
    assert settings(sink(**{"spark.profile": "huge"}), str(file)) == {}


def test_a_file_of_profiles_that_is_gone_is_told_and_gives_nothing(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.toml")
    (problem,) = problems(sink(**{"spark.profile": "big"}), {PROFILES: gone})
    assert "No such file" in problem.reason
    assert settings(sink(**{"spark.profile": "big"}), gone) == {}


def test_a_credential_is_a_reference_and_nothing_of_spark_is_shown_that_may_be_a_secret() -> None:
    (problem,) = problems(sink(**{"spark.hadoop.fs.s3a.bucket.b.secret.key": CANARY}), {})
    assert "was given as a literal value" in problem.reason
    assert CANARY not in repr(problem)
    assert is_secret("spark.hadoop.fs.s3a.secret.key")
    assert is_secret("spark.anything")
    assert not is_secret("spark.profile")
    assert not is_secret("spark.sql.shuffle.partitions")


@pytest.mark.parametrize("text", ['a = "b"', '[big]\n"java" = "x"', '[big]\nspark.driver.memory = "8g"', "[big", "\udcff"])
def test_a_file_that_holds_no_profiles_says_what_is_wrong(text: str, tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ProfilesWrong, match=r"profiles\.toml"):
        read_profiles(file)


def test_no_harmless_setting_names_a_class_a_file_a_host_or_a_command() -> None:
    suspicious = ("class", "jar", "path", "dir", "file.", "url", "host", "address", "python", "options", "command", "plugin", "env")
    assert [key for key in spark_profiles._HARMLESS if any(word in key.lower() for word in suspicious)] == []
