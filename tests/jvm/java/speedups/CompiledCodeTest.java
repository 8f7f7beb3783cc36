package ksqlpy.speedups;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.DeflaterOutputStream;
import org.junit.jupiter.api.Test;

final class CompiledCodeTest {
  private static final CompiledCode CODE =
      new CompiledCode("int ü;", Map.of("a.B", new byte[] {1, 2, 3}), new int[] {4, 5, 6});

  @Test
  void isUnpackedAsItWasPacked() throws IOException {
    assertSameCode(CompiledCode.unpacked(CODE.packed()));
  }

  private static void assertSameCode(CompiledCode same) {
    assertEquals(CODE.text(), same.text());
    assertEquals(CODE.classes().keySet(), same.classes().keySet());
    assertArrayEquals(CODE.classes().get("a.B"), same.classes().get("a.B"));
    assertArrayEquals(CODE.sizes(), same.sizes());
  }

  @Test
  void damageIsNoticedWhereverItIs() throws IOException {
    byte[] packed = CODE.packed();
    int noticed = 0;
    for (int i = 0; i < packed.length; i++) {
      byte[] damaged = packed.clone();
      damaged[i] ^= 1;
      try {
        assertSameCode(CompiledCode.unpacked(damaged)); // some bits mean nothing
      } catch (IOException e) {
        noticed++;
      }
      byte[] torn = Arrays.copyOf(packed, i);
      assertThrows(IOException.class, () -> CompiledCode.unpacked(torn), "only " + i + " bytes");
    }
    assertTrue(noticed > packed.length - 4, noticed + " of " + packed.length);
  }

  @Test
  void aWrongLengthIsDamage() throws IOException {
    for (int length : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
      ByteArrayOutputStream packed = new ByteArrayOutputStream();
      try (DataOutputStream out = new DataOutputStream(new DeflaterOutputStream(packed))) {
        out.writeInt(1); // the format
        out.writeInt(length);
      }
      assertThrows(IOException.class, () -> CompiledCode.unpacked(packed.toByteArray()), "length " + length);
    }
  }
}
