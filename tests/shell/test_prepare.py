"""`ksqlpy jars` without a folder: the work of a first start, done ahead."""

from __future__ import annotations

import pytest

from ksqlpy.__main__ import main


@pytest.mark.kafka
def test_jars_without_a_folder_prepares(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jars"]) == 0
    assert capsys.readouterr().out == "ready: jars are fetched and checked\n"
