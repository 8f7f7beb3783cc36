package ksqlpy.functions;

import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Texts with their characters covered: {@code (text[, how many], for capitals, for small letters, for digits, for
 * others)}. A null in place of a mask leaves these characters alone. Characters are Java's, as in ksqlDB: one beyond
 * the basic plane is two, the second of which is one of the others.
 */
public final class Masks {
  private Masks() {}

  private static final String FOUR = "string, string, string, string";

  private abstract static class Counted extends Scalar {
    Counted() {
      super("string", "string, int, " + FOUR);
    }

    boolean takesNull(int index) {
      return index >= 2;
    }

    Object of(InternalRow a) {
      String text = text(a, 0);
      int count = a.getInt(1);
      if (count < 0) {
        throw new IllegalArgumentException("a negative number of characters");
      }
      return of(text, Math.min(count, text.length()), new Mask(a, 2));
    }

    abstract String of(String text, int count, Mask mask);
  }

  /** MASK. */
  static final class All extends Scalar {
    All() {
      super("string", "string, " + FOUR);
    }

    boolean takesNull(int index) {
      return index >= 1;
    }

    Object of(InternalRow a) {
      String text = text(a, 0);
      return new Mask(a, 1).over(text, 0, text.length());
    }
  }

  /** MASK_LEFT. */
  static final class Left extends Counted {
    String of(String text, int count, Mask mask) {
      return mask.over(text, 0, count);
    }
  }

  /** MASK_RIGHT. */
  static final class Right extends Counted {
    String of(String text, int count, Mask mask) {
      return mask.over(text, text.length() - count, text.length());
    }
  }

  /** MASK_KEEP_LEFT. */
  static final class KeepLeft extends Counted {
    String of(String text, int count, Mask mask) {
      return mask.over(text, count, text.length());
    }
  }

  /** MASK_KEEP_RIGHT. */
  static final class KeepRight extends Counted {
    String of(String text, int count, Mask mask) {
      return mask.over(text, 0, text.length() - count);
    }
  }

  private static final class Mask {
    private static final int NONE = -1;

    private final int upper;
    private final int lower;
    private final int digit;
    private final int other;

    Mask(InternalRow a, int first) {
      upper = character(a, first);
      lower = character(a, first + 1);
      digit = character(a, first + 2);
      other = character(a, first + 3);
    }

    private static int character(InternalRow a, int index) {
      String text = Scalar.text(a, index);
      if (text == null) {
        return NONE;
      }
      if (text.length() != 1) {
        throw new IllegalArgumentException("a mask is one character");
      }
      return text.charAt(0);
    }

    String over(String text, int begin, int end) {
      StringBuilder covered = new StringBuilder(text.length());
      covered.append(text, 0, begin);
      for (int i = begin; i < end; i++) {
        char c = text.charAt(i);
        int mask = of(i + 1 < end ? text.codePointAt(i) : (int) c);
        covered.append((char) (mask == NONE ? (int) c : mask));
      }
      return covered.append(text, end, text.length()).toString();
    }

    private int of(int c) {
      switch (Character.getType(c)) {
        case Character.UPPERCASE_LETTER:
          return upper;
        case Character.LOWERCASE_LETTER:
          return lower;
        case Character.DECIMAL_DIGIT_NUMBER:
          return digit;
        default:
          return other;
      }
    }
  }
}
