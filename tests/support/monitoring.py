"""The alert rules and the dashboard of examples/monitoring, as docs/monitoring.py makes them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "MADE"]

_ROOT = Path(__file__).parents[2]

FOLDER = _ROOT / "examples" / "monitoring"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("docs_monitoring", _ROOT / "docs" / "monitoring.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


MADE = _load()
