"""Stored plans whose calls get another definition of a function in Python."""

from __future__ import annotations

import json
from typing import Any

from ksqlpy.plan.stored import Kept
from ksqlpy.plan.stored.codec import KIND, PYTHON
from ksqlpy.udfs.definition import Definition

__all__ = ["with_definition"]


def with_definition(kept: Kept, definition: Definition) -> Kept:
    """A stored plan in which the function of that name is this one.

    All else of its text stays as it was written, whichever version of ksqlpy wrote it: checkpoints know it by that.
    """

    def changed(data: Any) -> Any:
        if isinstance(data, list):
            return [changed(item) for item in data]
        if not isinstance(data, dict):
            return data
        new = {key: changed(item) for key, item in data.items()}
        if data.get(KIND) == "call" and PYTHON in data and data["function"] == definition.name:
            new[PYTHON] = definition.to_json()
        return new

    return Kept.of(changed(json.loads(kept.identity)))
