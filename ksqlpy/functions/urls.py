"""Functions of URLs.

Source of the semantics: ksqlDB's URL functions. All are Java: what a URL is and how its parts read is java.net.URI's.
"""

from __future__ import annotations

from ksqlpy.functions.signatures import Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import java
from ksqlpy.types import INTEGER, STRING, SqlType

__all__ = ["URLS"]


def _called(function: str) -> SparkText:
    return lambda a, t: java(function, *a)


def _url(name: str, function: str, help: str, returns: SqlType = STRING) -> Scalar:
    return Scalar(
        name, "URL", help, f"{name}(LINK)", (Signature((STRING,), returns, _called(function), names=("text",)),)
    )


def _part(part: str, what: str, returns: SqlType = STRING) -> Scalar:
    return _url(
        f"URL_EXTRACT_{part.upper()}",
        f"Urls.{part}",
        f"The {what} of a URL; null if it has none or is not valid.",
        returns,
    )


URLS = (
    _url("URL_ENCODE_PARAM", "Urls.Encode", "The text as it can stand in the query of a URL; a blank becomes +."),
    _url("URL_DECODE_PARAM", "Urls.Decode", "The text that stands encoded in the query of a URL; null if it is wrong."),
    _part("Fragment", "part behind the #, decoded,"),
    _part("Host", "host name"),
    _part("Path", "path, decoded,"),
    _part("Port", "port", INTEGER),
    _part("Protocol", "protocol"),
    _part("Query", "query, decoded,"),
    Scalar(
        "URL_EXTRACT_PARAMETER",
        "URL",
        "The value of a parameter in the query of a URL, decoded; empty if it has none, null without this parameter.",
        "URL_EXTRACT_PARAMETER(LINK, 'page')",
        (Signature((STRING, STRING), STRING, _called("Urls.Parameter"), names=("url", "name")),),
    ),
)
