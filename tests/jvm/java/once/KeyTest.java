package ksqlpy.once;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class KeyTest {
  private static final String OTHER = "000102030405060708090a0b0c0d0e10";

  static Stream<Vectors> withHeader() throws IOException {
    return Vectors.all().stream().filter(v -> v.header() != null);
  }

  /** Made by OpenSSL. */
  @ParameterizedTest
  @MethodSource("withHeader")
  void aTagIsThatOfOthers(Vectors vector) throws IOException {
    byte[] header = Arrays.copyOf(vector.header(), vector.header().length + Key.TAG);
    Key key = new Key(Vectors.key());
    key.sign(header);
    assertArrayEquals(vector.signed(), header);
    assertTrue(key.signed(header));
    assertFalse(new Key(OTHER).signed(header));
  }

  /** The example of the paper on SipHash: bytes 0 to 14 by the key of bytes 0 to 15. */
  @Test
  void theExampleOfThePaper() {
    byte[] header = new byte[15 + Key.TAG];
    for (int i = 0; i < 15; i++) {
      header[i] = (byte) i;
    }
    new Key("000102030405060708090a0b0c0d0e0f").sign(header);
    assertArrayEquals(HexFormat.of().parseHex("e545be4961ca29a1"), Arrays.copyOfRange(header, 15, 23));
  }

  @Test
  void noByteMayChange() throws IOException {
    Key key = new Key(Vectors.key());
    byte[] header = new byte[20];
    key.sign(header);
    for (int i = 0; i < header.length; i++) {
      header[i] ^= 1;
      assertFalse(key.signed(header));
      header[i] ^= 1;
    }
    assertTrue(key.signed(header));
    assertFalse(key.signed(Arrays.copyOf(header, Key.TAG)));
    assertFalse(key.signed(new byte[0]));
  }

  @Test
  void aKeyThatNobodyHasToldIsNoKey() {
    Key.keep("told", OTHER);
    assertTrue(Key.named("told") == Key.named("told"));
    assertThrows(IllegalStateException.class, () -> Key.named("untold"));
  }
}
