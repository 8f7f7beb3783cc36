package ksqlpy.tasks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/**
 * The tasks of a query that read one partition each, side by side: a task keeps its next record while another task has one
 * that is older by more than {@link #SLACK}, as Flink aligns the watermarks of sources (FLIP-182). So what they write lies
 * in the order of time but for that slack, also where records of several of them meet in one partition of the sink. A task
 * at its end is not waited for. All tasks are in this JVM, and run at the same time.
 */
public final class Alignment {
  /** By how many ms of event time a task may be ahead of another. */
  static final long SLACK = 250;

  private static final Map<String, Alignment> OF = new HashMap<>();

  private final String life;
  private final int tasks;
  private volatile Member[] members = {};

  private Alignment(String life, int tasks) {
    this.life = life;
    this.tasks = tasks;
  }

  /** A task of a query's {@code life}, in which so many read a partition each, begins to read this one. */
  public static Member join(String life, int tasks, TopicPartition place) {
    synchronized (OF) {
      Alignment found = OF.computeIfAbsent(life, name -> new Alignment(name, tasks));
      Member member = new Member(found, place);
      Member[] more = Arrays.copyOf(found.members, found.members.length + 1);
      more[more.length - 1] = member;
      found.members = more;
      return member;
    }
  }

  /** What a task of them says of itself, and asks of the others. For the thread of the task, but for {@link #isAtEnd}. */
  public static final class Member {
    private static final long AT_END = Long.MAX_VALUE;

    private final Alignment all;
    private final TopicPartition place;

    /** The event time of the record that it works on or gives next. */
    private volatile long at = Long.MIN_VALUE;

    /** The next offset, where it is at its end. */
    private volatile long position;

    /** Records up to this time may be given without another look. */
    private long bound = Long.MIN_VALUE;

    private Member(Alignment all, TopicPartition place) {
      this.all = all;
      this.place = place;
    }

    /** What it reads. */
    public TopicPartition place() {
      return place;
    }

    /** How far it is: changes as it goes on. */
    public long at() {
      return at;
    }

    /** The next offset of one at its end. */
    public long position() {
      return position;
    }

    /** Whether it has read all records that it knows of. */
    public boolean isAtEnd() {
      return at == AT_END;
    }

    /** Its next record has this event time. */
    public void has(long time) {
      at = Math.min(time, AT_END - 1);
    }

    /** It has read all, and the broker has told of no more; its next offset. */
    public void ends(long next) {
      if (at != AT_END) {
        position = next;
        at = AT_END;
        bound = Long.MIN_VALUE;
      } else if (position != next) {
        position = next;
      }
    }

    /** Whether a record of this time is within the slack of what the others had when they were looked at. */
    public boolean isWithin(long time) {
      return time <= bound;
    }

    /** Of the others the one that is furthest behind a record of this time, but not {@code passed}; null if none is. */
    public Member behind(long time, Member passed) {
      Member found = null;
      long oldest = AT_END;
      boolean lasts = passed == null; // one at its end may get an older record at any time
      for (Member each : all.members) {
        if (each != this && each != passed) {
          long reached = each.at;
          lasts &= reached != AT_END;
          if (reached < oldest) {
            oldest = reached;
            found = each;
          }
        }
      }
      if (found != null && time - SLACK > oldest) {
        return found;
      }
      bound = lasts && found != null ? oldest + SLACK : Long.MIN_VALUE;
      return null;
    }

    /** Whether all tasks have begun. */
    public boolean isComplete() {
      return all.members.length >= all.tasks;
    }

    /** The others that are at their end. */
    public List<Member> atEnd() {
      List<Member> found = new ArrayList<>();
      for (Member each : all.members) {
        if (each != this && each.isAtEnd()) {
          found.add(each);
        }
      }
      return found;
    }

    /** It reads no more. */
    public void leave() {
      synchronized (OF) {
        List<Member> left = new ArrayList<>(List.of(all.members));
        left.remove(this);
        all.members = left.toArray(new Member[0]);
        if (left.isEmpty()) {
          OF.remove(all.life, all);
        }
      }
    }
  }
}
