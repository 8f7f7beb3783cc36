package bench;

import java.nio.file.Path;
import java.util.Arrays;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * One job of bench/flink_sql.py as a Flink SQL program, in a mini cluster in this JVM.
 *
 * <p>Arguments: milliseconds between two checkpoints, and its statements, the last of which is the INSERT. Prints
 * RUNNING once it processes records; ends on SIGTERM. Checkpoints go to the JVM's folder for temporary files.
 */
public final class FlinkPeer {
  private static final long LOOK = 100;

  private FlinkPeer() {}

  public static void main(String[] args) {
    if (args.length < 2) {
      System.err.println("arguments: CHECKPOINT_MS STATEMENT...");
      System.exit(2);
    }
    try {
      run(Long.parseLong(args[0]), Arrays.copyOfRange(args, 1, args.length));
    } catch (Exception e) {
      e.printStackTrace();
    }
    System.exit(1); // the mini cluster's threads would go on
  }

  /** Returns, or throws what ended it, when the job has ended. */
  private static void run(long checkpoint, String[] statements) throws Exception {
    TableEnvironment tables =
        TableEnvironment.create(
            EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings(checkpoint)).build());
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

  private static Configuration settings(long checkpoint) {
    Configuration settings = new Configuration();
    settings.setString("parallelism.default", "1");
    settings.setString("pipeline.object-reuse", "true");
    settings.setString("state.backend.type", "hashmap");
    settings.setString("execution.checkpointing.interval", checkpoint + " ms");
    settings.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
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
