"""The jobs of bench/functions.py with PyFlink: Flink SQL with a Python function, in a mini cluster of one JVM.

Arguments: how Python runs (process or thread), milliseconds between checkpoints, how many rows and milliseconds a
bundle has at most (0: Flink's own settings), tasks side by side, folder for state, connector jars (separated by ;),
statements, the last of which is the INSERT. Prints RUNNING once it processes records; ends on SIGTERM.
"""

import os
import sys
import sysconfig
import time
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf
from rule import checked, rule

STARTING = {"INITIALIZING", "CREATED"}


def main():
    """Runs a job."""
    mode, checkpoint, rows, millis, tasks, folder, jars, *statements = sys.argv[1:]
    os.environ |= {
        "JVM_ARGS": f"-Xmx700m -Djava.io.tmpdir={folder}",  # as much as Spark's JVM has by default
        "PYTHONPATH": sysconfig.get_paths()["purelib"],  # Python in the JVM does not look into this environment
        "FLINK_LOG_DIR": folder,
        "ROOT_LOG_LEVEL": "ERROR",
        "TMPDIR": folder,
    }
    settings = {
        "pipeline.jars": jars,
        "pipeline.object-reuse": "true",
        "parallelism.default": tasks,
        "taskmanager.numberOfTaskSlots": tasks,
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "python.files": str(Path(__file__).with_name("rule.py")),
        "python.execution-mode": mode,
        "state.backend.type": "hashmap",
        "execution.checkpointing.interval": f"{checkpoint} ms",
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": Path(folder, "checkpoints").as_uri(),
        "restart-strategy.type": "none",
        "table.local-time-zone": "UTC",
        "rest.port": "0",
        "rest.bind-port": "0",
    }
    if rows != "0":
        settings |= {"python.fn-execution.bundle.size": rows, "python.fn-execution.bundle.time": millis}
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name, value)
    streaming = EnvironmentSettings.new_instance().in_streaming_mode()
    tables = TableEnvironment.create(streaming.with_configuration(configuration).build())
    tables.create_temporary_function("RULE", udf(rule, result_type=DataTypes.STRING()))
    tables.create_temporary_function("CHECKED", udf(checked, result_type=DataTypes.BOOLEAN()))
    for statement in statements:
        result = tables.execute_sql(statement)
    job = result.get_job_client()
    while job.get_job_status().result().name in STARTING:
        time.sleep(0.1)
    print("RUNNING", flush=True)
    job.get_job_execution_result().result()  # or why it has failed


if __name__ == "__main__":
    main()
