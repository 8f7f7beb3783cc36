package ksqlpy.functions;

import com.google.common.base.Splitter;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.text.StringEscapeUtils;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Texts and their characters. These are Java's, as in ksqlDB: one beyond the basic plane is two, and a half of it is written
 * as a question mark.
 */
public final class Texts {
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
   * and goes towards the beginning; what is found ends there at the latest. Occurrences may overlap.
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
      int length = text.length();
      if (left < 1 || place == 0 || Math.abs((long) place) > length) {
        return Integer.valueOf(0);
      }
      boolean forward = place > 0;
      int at = forward ? place - 1 : length + place + 1 - part.length();
      while (true) {
        at = forward ? text.indexOf(part, at) : text.lastIndexOf(part, at);
        if (at < 0) {
          return Integer.valueOf(0);
        }
        left--;
        if (left == 0) {
          return Integer.valueOf(at + 1);
        }
        at += forward ? 1 : -1;
        if (at < 0 || at > text.length()) {
          return Integer.valueOf(0);
        }
      }
    }
  }

  /**
   * LIKE: {@code (text, pattern, escape character or nothing)}. Spark makes a regular expression of the pattern, which
   * goes back over the text for each % of it.
   */
  static final class Like extends Scalar {
    private static final int ANY = -1;
    private static final int ONE = -2;

    private String known;
    private int[] wanted;

    Like() {
      super("boolean", "string, string, string");
    }

    Object of(InternalRow a) {
      String pattern = text(a, 1);
      if (!pattern.equals(known)) {
        wanted = read(pattern, text(a, 2));
        known = pattern;
      }
      return Boolean.valueOf(matches(text(a, 0).codePoints().toArray()));
    }

    private static int[] read(String pattern, String escape) {
      int[] given = pattern.codePoints().toArray();
      int[] read = new int[given.length];
      int count = 0;
      for (int i = 0; i < given.length; i++) {
        boolean escaped = !escape.isEmpty() && given[i] == escape.codePointAt(0);
        if (escaped) {
          i++;
          if (i == given.length) {
            break; // it escapes nothing
          }
        }
        read[count++] = escaped ? given[i] : given[i] == '%' ? ANY : given[i] == '_' ? ONE : given[i];
      }
      return java.util.Arrays.copyOf(read, count);
    }

    /** Each % takes as little as possible; only the last one that was met is tried again. */
    private boolean matches(int[] text) {
      int at = 0;
      int next = 0;
      int again = -1;
      int from = 0;
      while (at < text.length) {
        if (next < wanted.length && wanted[next] == ANY) {
          again = ++next;
          from = at;
        } else if (next < wanted.length && (wanted[next] == ONE || wanted[next] == text[at])) {
          next++;
          at++;
        } else if (again >= 0) {
          next = again;
          at = ++from;
        } else {
          return false;
        }
      }
      while (next < wanted.length && wanted[next] == ANY) {
        next++;
      }
      return next == wanted.length;
    }
  }

  /** SUBSTRING: {@code (text, from which place[, how many])}; places count from 1, or from the end if negative. */
  static final class Part extends Scalar {
    Part() {
      super("string", "string, int, int");
    }

    Object of(InternalRow a) {
      String text = text(a, 0);
      int length = text.length();
      int place = a.getInt(1);
      int begin = (int) Math.max(place < 0 ? length + (long) place : Math.min(place - 1L, length), 0);
      int end = (int) Math.max(Math.min(begin + (long) a.getInt(2), length), begin);
      return text.substring(begin, end);
    }
  }

  /** LPAD and RPAD: {@code (text, length, padding)}. */
  private abstract static class Padded extends Scalar {
    private static final int LONGEST = 1000000; // MOST in sparktext.py

    Padded() {
      super("string", "string, int, string");
    }

    Object of(InternalRow a) {
      String text = text(a, 0);
      int length = a.getInt(1);
      String padding = text(a, 2);
      if (length < 0 || length > LONGEST || padding.isEmpty()) {
        return null;
      }
      int missing = Math.max(length - text.length(), 0);
      StringBuilder pad = new StringBuilder(missing + padding.length());
      while (pad.length() < missing) {
        pad.append(padding);
      }
      pad.setLength(missing);
      return padded(text, pad.toString()).substring(0, length);
    }

    abstract String padded(String text, String padding);
  }

  /** LPAD. */
  static final class PadLeft extends Padded {
    String padded(String text, String padding) {
      return padding + text;
    }
  }

  /** RPAD. */
  static final class PadRight extends Padded {
    String padded(String text, String padding) {
      return text + padding;
    }
  }

  /** SPLIT: {@code (text, delimiter)}; an empty one splits into characters. */
  static final class Split extends Scalar {
    private static final Pattern NOTHING = Pattern.compile("");

    Split() {
      super("array<string>", "string, string");
    }

    Object of(InternalRow a) {
      String delimiter = text(a, 1);
      return delimiter.isEmpty()
          ? Arrays.asList((Object[]) NOTHING.split(text(a, 0)))
          : Splitter.on(delimiter).splitToList(text(a, 0));
    }
  }

  /** INITCAP; what stands ahead of the first word goes. */
  static final class Capitals extends Scalar {
    private static final Pattern WORD = Pattern.compile("\\S+\\s*");

    Capitals() {
      super("string", "string");
    }

    Object of(InternalRow a) {
      Matcher words = WORD.matcher(text(a, 0).toLowerCase(Locale.ROOT));
      StringBuilder all = new StringBuilder();
      while (words.find()) {
        String word = words.group();
        all.append(word.substring(0, 1).toUpperCase(Locale.ROOT)).append(word, 1, word.length());
      }
      return all.toString();
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
      LinkedHashMap<String, String> map = new LinkedHashMap<>();
      for (String entry : Splitter.on(between).omitEmptyStrings().split(text(a, 0))) {
        if (entry.contains(inside)) {
          Iterator<String> parts = Splitter.on(inside).split(entry).iterator();
          String key = parts.next();
          map.put(key, parts.next());
        }
      }
      return map;
    }
  }
}
