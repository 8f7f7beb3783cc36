package ksqlpy.functions;

import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import org.apache.spark.sql.catalyst.InternalRow;

/** Parts of URLs, by java.net.URI: with percent signs decoded. */
public final class Urls {
  private Urls() {}

  private abstract static class Part extends Scalar {
    Part(String result) {
      super(result, "string");
    }

    final Object of(InternalRow a) throws Exception {
      return of(new URI(text(a, 0)));
    }

    abstract Object of(URI url);
  }

  /** URL_EXTRACT_FRAGMENT. */
  static final class Fragment extends Part {
    Fragment() {
      super("string");
    }

    Object of(URI url) {
      return url.getFragment();
    }
  }

  /** URL_EXTRACT_HOST. */
  static final class Host extends Part {
    Host() {
      super("string");
    }

    Object of(URI url) {
      return url.getHost();
    }
  }

  /** URL_EXTRACT_PATH. */
  static final class Path extends Part {
    Path() {
      super("string");
    }

    Object of(URI url) {
      return url.getPath();
    }
  }

  /** URL_EXTRACT_PORT. */
  static final class Port extends Part {
    Port() {
      super("int");
    }

    Object of(URI url) {
      return url.getPort() < 0 ? null : Integer.valueOf(url.getPort());
    }
  }

  /** URL_EXTRACT_PROTOCOL. */
  static final class Protocol extends Part {
    Protocol() {
      super("string");
    }

    Object of(URI url) {
      return url.getScheme();
    }
  }

  /** URL_EXTRACT_QUERY. */
  static final class Query extends Part {
    Query() {
      super("string");
    }

    Object of(URI url) {
      return url.getQuery();
    }
  }

  /** URL_EXTRACT_PARAMETER: {@code (url, name)}; empty for a name without a value. */
  static final class Parameter extends Scalar {
    Parameter() {
      super("string", "string, string");
    }

    Object of(InternalRow a) throws Exception {
      String query = new URI(text(a, 0)).getQuery();
      String name = text(a, 1);
      if (query == null) {
        return null;
      }
      for (String pair : query.split("&", -1)) {
        int sign = pair.indexOf('=');
        if ((sign < 0 ? pair : pair.substring(0, sign)).equals(name)) {
          return sign < 0 ? "" : pair.substring(sign + 1);
        }
      }
      return null;
    }
  }

  /** URL_DECODE_PARAM. */
  static final class Decode extends Scalar {
    Decode() {
      super("string", "string");
    }

    Object of(InternalRow a) throws Exception {
      return URLDecoder.decode(text(a, 0), "UTF-8");
    }
  }

  /** URL_ENCODE_PARAM. */
  static final class Encode extends Scalar {
    Encode() {
      super("string", "string");
    }

    Object of(InternalRow a) throws Exception {
      return URLEncoder.encode(text(a, 0), "UTF-8");
    }
  }
}
