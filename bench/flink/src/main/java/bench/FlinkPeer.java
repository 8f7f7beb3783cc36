package bench;

import java.nio.file.Path;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * One job of bench/flink_sql.py as a Flink SQL program, in a mini cluster in this JVM.
 *
 * <p>Arguments: its statements, the last of which is the INSERT. Prints RUNNING once it processes records; ends on
 * SIGTERM. Checkpoints go to the JVM's folder for temporary files.
 */
public final class FlinkPeer {
  /** Between two checkpoints, in ms: as often as Kafka Streams commits at its setting for at_least_once. */
  private static final long CHECKPOINT = 30_000;

  private static final long LOOK = 100;

  private FlinkPeer() {}

  public static void main(String[] statements) {
    if (statements.length == 0) {
      System.err.println("arguments: STATEMENT...");
      System.exit(2);
    }
    try {
      run(statements);
    } catch (Exception e) {
      e.printStackTrace();
    }
    System.exit(1); // the mini cluster's threads would go on
  }

  /** Returns, or throws what ended it, when the job has ended. */
  private static void run(String[] statements) throws Exception {
    TableEnvironment tables =
        TableEnvironment.create(
            EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings()).build());
    JobClient job = null;
    for (String statement : statements) {
      job = tables.executeSql(statement).getJobClient().orElse(null);
    }
    if (job == null) {
      throw new IllegalArgumentException("the last statement starts no job");
    }
    boolean said = false;
    for (JobStatus now = JobStatus.CREATED; !now.isTerminalState(); now = job.getJobStatus().get()) {
      if (now == JobStatus.RUNNING && !said) {
        System.out.println("RUNNING");
        said = true;
      }
      Thread.sleep(LOOK);
    }
    job.getJobExecutionResult().get();
  }

  private static Configuration settings() {
    Configuration settings = new Configuration();
    settings.setString("parallelism.default", "1");
    settings.setString("pipeline.object-reuse", "true");
    settings.setString("state.backend.type", "hashmap");
    settings.setString("execution.checkpointing.interval", CHECKPOINT + " ms");
    settings.setString("execution.checkpointing.storage", "filesystem");
    settings.setString(
        "execution.checkpointing.dir",
        Path.of(System.getProperty("java.io.tmpdir"), "checkpoints").toUri().toString());
    settings.setString("restart-strategy.type", "none");
    settings.setString("table.local-time-zone", "UTC");
    settings.setString("rest.port", "0");
    settings.setString("rest.bind-port", "0");
    return settings;
  }
}
