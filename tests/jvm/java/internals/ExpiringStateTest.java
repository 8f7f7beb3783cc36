package ksqlpy.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.state.Expiry;
import ksqlpy.state.ExpiryTest;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.jdk.javaapi.CollectionConverters;

/** Over a store in memory; tests of queries have RocksDB below it. */
final class ExpiringStateTest {
  private static final String FAMILY = "default";

  private final Map<UnsafeRow, UnsafeRow> state = new HashMap<>();
  private final List<String> calls = new ArrayList<>();
  private final StateStore below =
      (StateStore)
          Proxy.newProxyInstance(
              StateStore.class.getClassLoader(),
              new Class<?>[] {StateStore.class},
              (proxy, method, arguments) -> {
                calls.add(method.getName());
                return switch (method.getName()) {
                  case "put" -> {
                    state.put(((UnsafeRow) arguments[0]).copy(), ((UnsafeRow) arguments[1]).copy());
                    yield null;
                  }
                  case "get" -> state.get(arguments[0]);
                  case "remove" -> {
                    state.remove(arguments[0]);
                    yield null;
                  }
                  case "commit" -> 7L;
                  case "iterator" -> new StateStoreIterator<>(CollectionConverters.asScala(pairs().iterator()), () -> null);
                  default -> throw new UnsupportedOperationException(method.getName());
                };
              });

  private List<UnsafeRowPair> pairs() {
    List<UnsafeRowPair> pairs = new ArrayList<>();
    state.forEach((key, value) -> pairs.add(new UnsafeRowPair(key, value)));
    return pairs;
  }

  private ExpiringState.Store store(int remembered) {
    return new ExpiringState.Store(below, Expiry.of(ExpiryTest.VALUE), remembered);
  }

  private static UnsafeRow key(long number) {
    UnsafeRow row = UnsafeRow.createFromByteArray(16, 1);
    row.setLong(0, number);
    return row;
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 2, 0})
  void expiredKeysGoAtTheCommit(int remembered) {
    ExpiringState.Store store = store(remembered);
    for (int n = 0; n < 10; n++) {
      store.put(key(n), ExpiryTest.value(n % 2, null, 1), FAMILY);
    }
    assertNotNull(store.get(key(0), FAMILY));
    assertEquals(7, store.commit());
    for (int n = 0; n < 10; n++) {
      assertEquals(n % 2 == 0, store.get(key(n), FAMILY) == null, "key " + n);
    }
  }

  @Test
  void aKeyThatIsNeededAgainStays() {
    ExpiringState.Store store = store(100);
    store.put(key(1), ExpiryTest.value(0, null, 1), FAMILY);
    store.put(key(1), ExpiryTest.value(1, null, 1), FAMILY);
    store.commit();
    assertNotNull(store.get(key(1), FAMILY));
  }

  @Test
  void aKeyOfAnEarlierBatchGoes() {
    store(100).put(key(1), ExpiryTest.value(1, null, 1), FAMILY);
    ExpiringState.Store store = store(100);
    store.put(key(1), ExpiryTest.value(0, 0, 1), FAMILY);
    store.commit();
    assertNull(store.get(key(1), FAMILY));
  }

  @Test
  void whatOnlyAskedIsNotWritten() {
    ExpiringState.Store store = store(100);
    store.put(key(1), ExpiryTest.value(1, null, null), FAMILY);
    store.put(key(2), ExpiryTest.value(0, null, null), FAMILY);
    store.commit();
    assertEquals(List.of("commit"), calls);
  }

  @Test
  void theMarkOfAChangeIsNotKept() {
    ExpiringState.Store store = store(100);
    store.put(key(1), ExpiryTest.value(1, null, 5), FAMILY);
    assertEquals(true, store.get(key(1), FAMILY).isNullAt(2));
  }
}
