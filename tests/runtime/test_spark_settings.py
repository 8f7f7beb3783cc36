"""Settings of Spark in ksqlpy's configuration: which are taken, and why others are not."""

from __future__ import annotations

import pytest

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.spark.session import SETTINGS
from ksqlpy.spark.userconf import allowed


def test_they_are_kept_apart_and_not_shown() -> None:
    config = Config.of(
        {
            "ksqlpy.spark.conf.spark.hadoop.fs.s3a.secret.key": "hush",
            "ksqlpy.port": "1",
            "kafka.producer.linger.ms": "7",
            "ksql.streams.consumer.fetch.max.wait.ms": "70",
            "sasl.password": "hush",
        }
    )
    assert config.spark == {"spark.hadoop.fs.s3a.secret.key": "hush"}
    assert "hush" not in repr(config)
    assert config.for_statement({"auto.offset.reset": "earliest"}).spark == config.spark
    assert Config.of(config.all_given) == config


@pytest.mark.parametrize(
    "name", ["spark.hadoop.fs.s3a.endpoint", "spark.ui.enabled", "spark.driver.host", "spark.executor.memory"]
)
def test_what_may_be_set(name: str) -> None:
    assert allowed({name: "x"}, SETTINGS) == {name: "x"}


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("spark.sql.ansi.enabled", "reserved-setting", "results, or how quickly they come, depend on it"),
        ("spark.task.maxFailures", "reserved-setting", "results, or how quickly they come, depend on it"),
        ("spark.master", "reserved-setting", "ksqlpy.spark.master is for it"),
        ("spark.redaction.regex", "reserved-setting", "it keeps secrets out"),
        ("spark.dynamicAllocation.enabled", "reserved-setting", "a fixed number of executors"),
        ("executor.memory", "invalid-property", "their names begin with 'spark.'"),
    ],
)
def test_what_may_not(name: str, code: str, said: str) -> None:
    with pytest.raises(ConfigProblem) as refused:
        allowed({name: "x"}, SETTINGS)
    assert refused.value.code == code and said in str(refused.value)


def test_a_statement_cannot_set_one() -> None:
    with pytest.raises(ConfigProblem) as refused:
        Config.of().for_statement({"ksqlpy.spark.conf.spark.ui.enabled": "true"})
    assert refused.value.code == "fixed-property"
