package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.management.JMException;
import ksqlpy.internals.Tasks;
import ksqlpy.metrics.Reports;
import ksqlpy.sink.Senders;
import org.apache.spark.SparkContext;

/** Whether a query waits for records, in the driver and on all executors. */
public final class IdleCheck {
  private IdleCheck() {}

  /**
   * Whether so many tasks of a query run, each waits for a record, and all results are sent. Seen for one moment; not
   * while an executor does not report.
   */
  public static boolean isIdle(SparkContext spark, String query, int tasks) throws JMException, InterruptedException {
    List<JsonNode> reports = Reports.fresh();
    if (reports == null) {
      return false;
    }
    Set<String> busy = Tasks.busy();
    boolean sent = Senders.idle(query);
    for (JsonNode report : reports) {
      report.get("busy").forEach(task -> busy.add(task.asText()));
      for (JsonNode client : report.get("sending")) {
        sent &= !client.asText().equals(query);
      }
    }
    return sent && Tasks.waiting(spark, query, tasks, busy);
  }
}
