package ksqlpy.speedups;

/** The text of an expression, and how far it is read: its signs, words, names and digits. */
abstract class ExpressionText {
  protected final String text;
  protected int at;

  protected ExpressionText(String text) {
    this.text = text;
  }

  protected String digits() {
    next();
    int begin = at;
    while (at < text.length() && isDigit(text.charAt(at))) {
      at++;
    }
    if (at == begin || at - begin > 19) {
      throw new Unknown();
    }
    return text.substring(begin, at);
  }

  protected String name() {
    if (next() == '`') {
      StringBuilder name = new StringBuilder();
      while (true) {
        int end = text.indexOf('`', at + 1);
        if (end < 0) {
          throw new Unknown();
        }
        name.append(text, at + 1, end);
        at = end + 1;
        if (at >= text.length() || text.charAt(at) != '`') {
          break;
        }
        name.append('`');
      }
      if (name.length() == 0) {
        throw new Unknown();
      }
      return name.toString();
    }
    int begin = at;
    while (at < text.length() && isOfName(text.charAt(at))) {
      at++;
    }
    if (at == begin || isDigit(text.charAt(begin))) {
      throw new Unknown();
    }
    return text.substring(begin, at);
  }

  /** The next character that is no blank; 0 at the end. */
  protected char next() {
    while (at < text.length() && text.charAt(at) == ' ') {
      at++;
    }
    return at < text.length() ? text.charAt(at) : (char) 0;
  }

  protected boolean atEnd() {
    return next() == 0 && at >= text.length();
  }

  protected boolean comes(char c) {
    boolean comes = next() == c;
    if (comes) {
      at++;
    }
    return comes;
  }

  protected boolean comesAll(String sign) {
    next();
    boolean comes = text.startsWith(sign, at);
    if (comes) {
      at += sign.length();
    }
    return comes;
  }

  /** Unless one of the others follows at once, with which it would be another sign. */
  protected boolean comesAlone(char c, String others) {
    if (next() != c) {
      return false;
    }
    if (at + 1 < text.length() && others.indexOf(text.charAt(at + 1)) >= 0) {
      throw new Unknown();
    }
    at++;
    return true;
  }

  protected boolean comesWord(String lower) {
    next();
    int end = at + lower.length();
    boolean comes =
        text.regionMatches(true, at, lower, 0, lower.length()) && (end == text.length() || !isOfName(text.charAt(end)));
    if (comes) {
      at = end;
    }
    return comes;
  }

  /** Whether the next character is this one, blanks not passed over. */
  protected boolean follows(char c) {
    return at < text.length() && text.charAt(at) == c;
  }

  protected void must(char c) {
    if (!comes(c)) {
      throw new Unknown();
    }
  }

  protected static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  protected static boolean isOfName(char c) {
    return isDigit(c) || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
  }

  /** Something that is left to Spark's parser. */
  protected static final class Unknown extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Unknown() {
      super(null, null, false, false);
    }
  }
}
