"""The jobs of bench/functions.py with Quix Streams: one process, which shares the topic with others of its group.

Arguments: bootstrap servers, job, source topic, sink topic, guarantee, seconds between commits, linger (ms),
batch (bytes), folder for state. Prints RUNNING as it joins its group; ends on SIGTERM.
"""

import sys

from quixstreams import Application
from rule import checked, rule


def main():
    """Runs a job."""
    bootstrap, job, source, sink, guarantee, commit, linger, batch, folder = sys.argv[1:]
    app = Application(
        broker_address=bootstrap,
        consumer_group=f"peer-{sink}",
        auto_offset_reset="earliest",
        processing_guarantee=guarantee.replace("_", "-"),
        commit_interval=float(commit),
        producer_extra_config={"linger.ms": int(linger), "batch.size": int(batch)},
        state_dir=folder,
        auto_create_topics=False,
        loglevel="WARNING",
    )
    rows = app.dataframe(app.topic(source, key_deserializer="bytes", value_deserializer="json"))
    if job == "function in SELECT":
        rows = rows.filter(lambda row: row["V"] % 4 != 0)
        rows = rows.apply(lambda row: {"V": row["V"], "T": row["T"], "R": rule(row["A"])})
    elif job == "function in WHERE":
        rows = rows.filter(lambda row: checked(row["A"]))
        rows = rows.apply(lambda row: {"V": row["V"], "T": row["T"], "R": row["A"]})
    else:
        raise SystemExit(f"there is no job {job}")
    rows.to_topic(app.topic(sink, key_serializer="bytes", value_serializer="json"))
    print("RUNNING", flush=True)
    app.run()


if __name__ == "__main__":
    main()
