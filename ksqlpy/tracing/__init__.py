"""Traces of requests for OpenTelemetry; without a collector to send them to, nothing of it is imported or done."""

from ksqlpy.tracing.headers import ENDPOINT, RECORDS, TraceHeaders, of_request, wanted
from ksqlpy.tracing.sending import sending
from ksqlpy.tracing.spans import Span, begin, current, record_headers, request, span

__all__ = [
    "ENDPOINT",
    "RECORDS",
    "Span",
    "TraceHeaders",
    "begin",
    "current",
    "of_request",
    "record_headers",
    "request",
    "sending",
    "span",
    "wanted",
]
