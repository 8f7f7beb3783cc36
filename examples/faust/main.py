"""Runs the four programs, one after the other, in one engine."""

from __future__ import annotations

import page_views
import tumbling
import withdrawals
import word_count

import ksqlpy


def main() -> None:
    """Starts the engine, which `faust worker` is there, and the programs."""
    with ksqlpy.Engine(config={"ksqlpy.functions.python.enabled": "true"}) as engine:
        engine.sql("SET 'auto.offset.reset' = 'earliest';")
        for program in (word_count, page_views, tumbling, withdrawals):
            print(f"{program.__name__}:")
            program.run(engine)


if __name__ == "__main__":
    main()
