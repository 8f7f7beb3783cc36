package ksqlpy.tasks;

/** A {@link Progress} for tests of other packages, without Spark's tasks. */
public final class ProgressProbe {
  private final Progress progress;
  private final int tasks;

  public ProgressProbe(int tasks) {
    this.progress = new Progress("q", tasks);
    this.tasks = tasks;
  }

  public void sent(int stage, int sender, int task, long time) {
    progress.sender(stage, sender).sent(task, time);
  }

  public Progress.Own own(int stage, int number) {
    return progress.own(stage, number, (long) stage * tasks + number);
  }

  public void done(int stage, int number, int sender) {
    own(stage, number).done(sender);
  }
}
