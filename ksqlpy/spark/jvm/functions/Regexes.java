package ksqlpy.functions;

import com.google.common.base.Splitter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;

/** Java's regular expressions. Spark's own functions end the query at a pattern that is wrong. */
public final class Regexes {
  private Regexes() {}

  private static final int LONGEST = 10 * 1000 * 1000; // a longer text fits no record

  /** Looks at characters: a second's worth. A pattern such as (a+)+b goes back over a text without end. */
  private static final int STEPS = 200 * 1000 * 1000;

  /** A text that gives so many characters, and then an error. */
  private static final class Bounded implements CharSequence {
    private final String text;
    private final int[] left;
    private final int begin;
    private final int end;

    Bounded(String text, int[] left, int begin, int end) {
      this.text = text;
      this.left = left;
      this.begin = begin;
      this.end = end;
    }

    public char charAt(int index) {
      left[0]--;
      if (left[0] < 0) {
        throw new IllegalStateException("the pattern takes too long");
      }
      return text.charAt(begin + index);
    }

    public int length() {
      return end - begin;
    }

    public CharSequence subSequence(int from, int to) {
      return new Bounded(text, left, begin + from, begin + to);
    }

    public String toString() {
      return text.substring(begin, end);
    }
  }

  private abstract static class Matching extends Scalar {
    private Pattern last;

    Matching(String result, String parameters) {
      super(result, parameters);
    }

    /** A text to match. */
    static final CharSequence bounded(String text) {
      return new Bounded(text, new int[] {STEPS}, 0, text.length());
    }

    /** The pattern; mostly it is the same for every row. */
    final Pattern pattern(String text) {
      if (last == null || !last.pattern().equals(text)) {
        last = Pattern.compile(text);
      }
      return last;
    }
  }

  /** REGEXP_EXTRACT: {@code (pattern, text, group)}. */
  static final class Extract extends Matching {
    Extract() {
      super("string", "string, string, int");
    }

    Object of(InternalRow a) {
      Matcher matcher = pattern(text(a, 0)).matcher(bounded(text(a, 1)));
      return matcher.find() ? matcher.group(a.getInt(2)) : null;
    }
  }

  /** REGEXP_EXTRACT_ALL: {@code (pattern, text, group)}. */
  static final class ExtractAll extends Matching {
    ExtractAll() {
      super("array<string>", "string, string, int");
    }

    Object of(InternalRow a) {
      Matcher matcher = pattern(text(a, 0)).matcher(bounded(text(a, 1)));
      int group = a.getInt(2);
      if (group > matcher.groupCount()) {
        return null;
      }
      ArrayList<String> found = new ArrayList<>();
      while (matcher.find()) {
        found.add(matcher.group(group));
      }
      return found;
    }
  }

  /** REGEXP_REPLACE: {@code (text, pattern, new text)}. */
  static final class Replace extends Matching {
    Replace() {
      super("string", "string, string, string");
    }

    Object of(InternalRow a) {
      Matcher matcher = pattern(text(a, 1)).matcher(bounded(text(a, 0)));
      String replacement = text(a, 2);
      StringBuffer made = new StringBuffer();
      while (matcher.find()) {
        matcher.appendReplacement(made, replacement);
        if (made.length() > LONGEST) {
          return null;
        }
      }
      matcher.appendTail(made);
      return made.toString();
    }
  }

  /** REGEXP_SPLIT_TO_ARRAY: {@code (text, pattern)}; a pattern that matches nothing splits into characters. */
  static final class Split extends Matching {
    Split() {
      super("array<string>", "string, string");
    }

    Object of(InternalRow a) {
      String text = text(a, 0);
      Pattern pattern = pattern(text(a, 1));
      return pattern.matcher("").matches()
          ? Arrays.asList((Object[]) pattern.split(bounded(text)))
          : Splitter.on(pattern).splitToList(bounded(text));
    }
  }
}
