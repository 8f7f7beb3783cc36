"""The function of SQL. A worker process imports this file once, and so reads the model once."""

from __future__ import annotations

from pathlib import Path

import joblib

_MODEL = joblib.load(Path(__file__).with_name("model.joblib"))


def fraud_risk(amount: float | None, hour: int | None, kilometres: float | None) -> float | None:
    """How likely a payment is a fraud, 0 to 1; null where something about it is not known."""
    if amount is None or hour is None or kilometres is None:
        return None
    return round(float(_MODEL.predict_proba([[amount, hour, kilometres]])[0][1]), 2)
