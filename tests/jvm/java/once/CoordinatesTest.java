package ksqlpy.once;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class CoordinatesTest {
  static Stream<Vectors> withHeader() throws IOException {
    return Vectors.all().stream().filter(v -> v.header() != null);
  }

  @ParameterizedTest
  @MethodSource("withHeader")
  void aHeaderIsReadAsItWasWritten(Vectors vector) {
    Coordinates read = Coordinates.read(vector.header(), vector.header().length, vector.at().seen().length);
    assertEquals(Coordinates.mark(vector.query()), read.mark());
    assertEquals(vector.at().place(), read.place());
    assertEquals(vector.at().offset(), read.offset());
    assertEquals(vector.at().window(), read.window());
    assertArrayEquals(vector.at().seen(), read.seen());
    assertArrayEquals(vector.at().group(), read.group());
    assertTrue(Coordinates.isOf(Coordinates.mark(vector.query()), vector.header()));
    assertFalse(Coordinates.isOf(Coordinates.mark("CSAS_OTHER_9"), vector.header()));
  }

  @ParameterizedTest
  @MethodSource("withHeader")
  void whatStandsBetweenMarkAndSeenIsWrittenAsEver(Vectors vector) {
    Vectors.At at = vector.at();
    ByteBuffer written = ByteBuffer.allocate(Coordinates.size(at.place(), at.offset(), at.window()));
    Coordinates.write(written, at.place(), at.offset(), at.window());
    assertFalse(written.hasRemaining());
    assertArrayEquals(written.array(), Arrays.copyOfRange(vector.header(), 4, 4 + written.capacity()));
  }

  @Test
  void aHeaderFromBeforeATableWasJoinedHasSeenFewer() {
    Coordinates read = Coordinates.read(new byte[] {0, 0, 0, 1, 2, 4, 0, 6}, 8, 3);
    assertArrayEquals(new long[] {3}, read.seen());
    assertEquals(0, read.group().length);
  }

  @ParameterizedTest
  @MethodSource("withHeader")
  void whatStandsAheadOfTheTagIsReadAsItWasWritten(Vectors vector) {
    Coordinates read = Coordinates.read(vector.signed(), vector.header().length, vector.at().seen().length);
    assertEquals(vector.at().offset(), read.offset());
    assertArrayEquals(vector.at().group(), read.group());
  }

  @Test
  void whatNoQueryEverWroteIsNone() {
    byte[] long20 = new byte[20];
    Arrays.fill(long20, (byte) 0xff); // the number does not end
    assertNull(Coordinates.read(long20, long20.length, 0));
    assertNull(Coordinates.read(new byte[] {0, 0, 0, 1, 2}, 5, 0)); // no offset
    assertNull(Coordinates.read(new byte[] {0, 0, 0, 1, 2, (byte) 0x80}, 6, 0)); // half of it
    assertNull(Coordinates.read(new byte[] {0, 0, 0, 1, 1, 4, 0}, 7, 0)); // place -1
    assertNull(Coordinates.read(new byte[] {0, 0, 0, 1, 2, 1, 0}, 7, 0)); // offset -1
    assertNull(Coordinates.read(new byte[] {0, 0, 0}, 3, 0));
  }

  @Test
  void whatOthersPutThereIsNotOurs() {
    assertFalse(Coordinates.isOf(1, null));
    assertFalse(Coordinates.isOf(1, new byte[0]));
    assertFalse(Coordinates.isOf(1, new byte[] {0, 0, 0, 1}));
    assertTrue(Coordinates.isOf(1, new byte[] {0, 0, 0, 1, 0}));
  }
}
