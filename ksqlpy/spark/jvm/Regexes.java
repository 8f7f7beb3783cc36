package ksqlpy;

import com.google.common.base.Splitter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;

/** Java's regular expressions. Spark's own functions end the query at a pattern that is wrong. */
final class Regexes {
  private Regexes() {}

  private abstract static class Matching extends Scalar {
    private Pattern last;

    Matching(String result, String parameters) {
      super(result, parameters);
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
      Matcher matcher = pattern(text(a, 0)).matcher(text(a, 1));
      return matcher.find() ? matcher.group(a.getInt(2)) : null;
    }
  }

  /** REGEXP_EXTRACT_ALL: {@code (pattern, text, group)}. */
  static final class ExtractAll extends Matching {
    ExtractAll() {
      super("array<string>", "string, string, int");
    }

    Object of(InternalRow a) {
      Matcher matcher = pattern(text(a, 0)).matcher(text(a, 1));
      int group = a.getInt(2);
      if (group > matcher.groupCount()) {
        return null;
      }
      ArrayList<String> found = new ArrayList<String>();
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
      return pattern(text(a, 1)).matcher(text(a, 0)).replaceAll(text(a, 2));
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
          ? Arrays.asList((Object[]) pattern.split(text))
          : Splitter.on(pattern).splitToList(text);
    }
  }
}
