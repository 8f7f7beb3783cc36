package ksqlpy.read;

/** Says why a record cannot be read. Thrown once a bad record, so it goes without a stack trace. */
public final class Unreadable extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private static final int LONGEST = 60;

  Unreadable(String message) {
    super(message, null, false, false);
  }

  /** {@code text} as one line, short enough to stand in a message. */
  static String brief(String text) {
    return brief(text, LONGEST);
  }

  static String brief(String text, int longest) {
    int end = Math.min(text.length(), longest);
    if (end < text.length() && Character.isHighSurrogate(text.charAt(end - 1))) {
      end--; // no half character
    }
    StringBuilder line = new StringBuilder(end + 1);
    for (int i = 0; i < end; i++) {
      char c = text.charAt(i);
      line.append(Character.isISOControl(c) ? ' ' : c);
    }
    return end < text.length() ? line.append('…').toString() : line.toString();
  }
}
