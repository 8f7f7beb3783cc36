package ksqlpy;

import com.google.common.base.Splitter;
import java.util.Iterator;
import java.util.LinkedHashMap;
import org.apache.commons.text.StringEscapeUtils;
import org.apache.spark.sql.catalyst.InternalRow;

/** Texts and their characters. */
final class Texts {
  private Texts() {}

  /** CHR of a code point. */
  static final class CharacterOfCode extends Scalar {
    CharacterOfCode() {
      super("string", "int");
    }

    Object of(InternalRow a) {
      return new String(Character.toChars(a.getInt(0)));
    }
  }

  /** CHR of a text with Java's escapes, which begins with a backslash and a small u. */
  static final class CharacterOfEscape extends Scalar {
    private static final int SHORTEST = 6;

    CharacterOfEscape() {
      super("string", "string");
    }

    Object of(InternalRow a) {
      String text = text(a, 0);
      return text.length() >= SHORTEST && text.startsWith("\\u") ? StringEscapeUtils.unescapeJava(text) : null;
    }
  }

  /**
   * INSTR: {@code (text, part, from which place, which occurrence)}, 0 for none. A negative place counts from the end
   * and goes towards the beginning; what is found ends there at the latest. Places count characters; occurrences may
   * overlap.
   */
  static final class Find extends Scalar {
    Find() {
      super("int", "string, string, int, int");
    }

    Object of(InternalRow a) {
      String text = text(a, 0);
      String part = text(a, 1);
      int place = a.getInt(2);
      int left = a.getInt(3);
      int length = text.codePointCount(0, text.length());
      if (left < 1 || place == 0 || Math.abs((long) place) > length) {
        return Integer.valueOf(0);
      }
      boolean forward = place > 0;
      int at =
          forward
              ? text.offsetByCodePoints(0, place - 1)
              : text.offsetByCodePoints(0, length + place + 1) - part.length();
      while (true) {
        at = forward ? text.indexOf(part, at) : text.lastIndexOf(part, at);
        if (at < 0) {
          return Integer.valueOf(0);
        }
        left--;
        if (left == 0) {
          return Integer.valueOf(text.codePointCount(0, at) + 1);
        }
        at += forward ? 1 : -1;
        if (at < 0 || at > text.length()) {
          return Integer.valueOf(0);
        }
      }
    }
  }

  /** SPLIT_TO_MAP: {@code (text, delimiter of entries, delimiter of key and value)}. */
  static final class SplitToMap extends Scalar {
    SplitToMap() {
      super("map<string,string>", "string, string, string");
    }

    Object of(InternalRow a) {
      String between = text(a, 1);
      String inside = text(a, 2);
      if (between.isEmpty() || inside.isEmpty() || between.equals(inside)) {
        return null;
      }
      LinkedHashMap<String, String> map = new LinkedHashMap<String, String>();
      for (String entry : Splitter.on(between).omitEmptyStrings().split(text(a, 0))) {
        if (entry.contains(inside)) {
          Iterator<String> parts = Splitter.on(inside).split(entry).iterator();
          String key = (String) parts.next();
          map.put(key, (String) parts.next());
        }
      }
      return map;
    }
  }
}
