"""Ids of queries, as statements name them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["query_named"]


def query_named(name: str, known: Iterable[str]) -> str | None:
    """The id, of these, that a statement means: upper and lower case are the same in ids of queries, as in ksqlDB.

    Those of push queries have lower case in them, and clients write them into TERMINATE as they are.
    """
    ids = tuple(known)
    return name if name in ids else next((k for k in ids if k.upper() == name.upper()), None)
