package ksqlpy.tasks;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A {@link Progress} for tests of other packages, without Spark's tasks. */
public final class ProgressProbe {
  private final Progress progress;
  private final Map<Long, Progress.Own> known = new ConcurrentHashMap<>();
  private final int tasks;

  public ProgressProbe(int tasks) {
    this.progress = new Progress("q", tasks);
    this.tasks = tasks;
  }

  public void sent(int stage, int sender, int task, long time) {
    progress.sender(stage, sender).sent(task, time);
  }

  /** That of one task, always the same. */
  public Progress.Own own(int stage, int number) {
    return known.computeIfAbsent((long) stage * tasks + number, task -> progress.own(stage, number, task));
  }

  public void done(int stage, int number, int sender) {
    own(stage, number).done(sender);
  }
}
