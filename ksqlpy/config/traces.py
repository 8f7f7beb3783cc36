"""Traces of requests: where they are sent, and what carries them on."""

from __future__ import annotations

import re

from ksqlpy.config.checks import one_of
from ksqlpy.config.property import Property

__all__ = ["TRACES"]


def _collector(value: str) -> str:
    # A user and a password would be shown with the property.
    matched = re.fullmatch(r"(https?://[A-Za-z0-9._\[\]:-]+)(/[^\s?#@]*)?", value.strip())
    if value.strip() and matched is None:
        raise ValueError("must be a URL such as http://127.0.0.1:4318/v1/traces, without a user")
    if matched is None:
        return ""
    return matched[1] + (matched[2] if (matched[2] or "/") != "/" else "/v1/traces")


def _part(value: str) -> str:
    if not re.fullmatch(r"\s*(0(\.[0-9]{1,9})?|1(\.0{1,9})?)\s*", value):
        raise ValueError("must be a number from 0 to 1, such as 0.05")
    return value.strip()


TRACES = (
    Property(
        "ksqlpy.traces.endpoint",
        "",
        "URL of a collector that takes OpenTelemetry's spans by OTLP over HTTP, such as "
        "http://127.0.0.1:4318/v1/traces; empty: no spans are made. It needs the extra traces.",
        _collector,
    ),
    Property(
        "ksqlpy.traces.ratio",
        "1",
        "The part of the requests without the header traceparent whose spans are sent, from 0 to 1; requests with it "
        "say so themselves.",
        _part,
    ),
    Property(
        "ksqlpy.traces.records",
        "false",
        "Whether records that are inserted over REST get the headers traceparent and tracestate of the request.",
        one_of("true", "false"),
    ),
)
