"""The jobs of bench/functions.py with Faust: one worker, which shares the topic with others of its group.

Arguments: bootstrap servers, job, source topic, sink topic, guarantee, seconds between commits, linger (ms),
batch (bytes), folder for state. Prints RUNNING once it has partitions; ends on SIGTERM.
"""

import sys

import faust
from rule import checked, rule


def main():
    """Runs a job."""
    bootstrap, job, source, sink, guarantee, commit, linger, batch, folder = sys.argv[1:]
    app = faust.App(
        f"peer-{sink}",
        broker=f"kafka://{bootstrap}",
        datadir=folder,
        processing_guarantee=guarantee,
        broker_commit_interval=float(commit),
        producer_linger=int(linger) / 1000,
        producer_max_batch_size=int(batch),
        topic_disable_leader=True,
        topic_allow_declare=False,
        web_enabled=False,
    )
    rows = app.topic(source, key_type=bytes, value_serializer="json")
    results = app.topic(sink, key_type=bytes, value_serializer="json")
    if job == "function in SELECT":

        @app.agent(rows)
        async def select(stream):
            async for event in stream.events():
                row = event.value
                if row["V"] % 4 != 0:
                    result = {"V": row["V"], "T": row["T"], "R": rule(row["A"])}
                    await results.send(key=event.key, value=result, partition=event.message.partition)

    elif job == "function in WHERE":

        @app.agent(rows)
        async def where(stream):
            async for event in stream.events():
                row = event.value
                if checked(row["A"]):
                    result = {"V": row["V"], "T": row["T"], "R": row["A"]}
                    await results.send(key=event.key, value=result, partition=event.message.partition)

    else:
        raise SystemExit(f"there is no job {job}")

    @app.on_partitions_assigned.connect
    async def told(sender, assigned, **_):
        print("RUNNING", flush=True)

    sys.argv[1:] = ["--loop", "uvloop", "worker", "--loglevel", "warn", "--without-web"]
    app.main()


if __name__ == "__main__":
    main()
