package ksqlpy;

import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.state.KeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.ReadStateStore;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateSchemaProvider;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreCheckpointInfo;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.StateStoreMetrics;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;

/**
 * State in RocksDB that forgets the dead: Spark's aggregates keep what they have of a key for ever.
 *
 * <p>A plan says by cells of type TINYINT, which nothing else in a plan has, whether a key is needed: 1 for yes, 0 for
 * no. What has a 0 and no 1 is dead: nothing is lost when it is gone, since a key without state counts like it.
 *
 * <p>A cell of type SMALLINT, which nothing else has either, says with a number that something was changed since the
 * state was read, with null that rows only asked, as a stream's rows ask its tables: nothing is written then.
 *
 * <p>The dead go at the commit, not at once: a recovery starts from a commit, and until the next one rows say what they
 * had seen of the dead, too. They are remembered until then; if they are very many, all of the state is looked
 * through instead.
 */
public final class Forgetting extends RocksDBStateStoreProvider {
  private static final int REMEMBERED = 200_000;

  private int[] cells = new int[0];
  private int touched = -1;

  @Override
  public void init(
      StateStoreId id,
      StructType key,
      StructType value,
      KeyStateEncoderSpec encoder,
      boolean families,
      StateStoreConf conf,
      Configuration hadoop,
      boolean several,
      Option<StateSchemaProvider> schemas) {
    super.init(id, key, value, encoder, families, conf, hadoop, several, schemas);
    int[] found = new int[value.length()];
    int count = 0;
    for (int i = 0; i < found.length; i++) {
      if (value.fields()[i].dataType() instanceof ByteType) {
        found[count++] = i;
      } else if (value.fields()[i].dataType() instanceof ShortType) {
        touched = i;
      }
    }
    cells = java.util.Arrays.copyOf(found, count);
  }

  @Override
  public StateStore getStore(long version, Option<String> id, boolean snapshot, boolean empty) {
    return forgetting(super.getStore(version, id, snapshot, empty));
  }

  @Override
  public StateStore upgradeReadStoreToWriteStore(
      ReadStateStore read, long version, Option<String> id, boolean snapshot) {
    return forgetting(super.upgradeReadStoreToWriteStore(read, version, id, snapshot));
  }

  private StateStore forgetting(StateStore store) {
    Attempts.first(); // rows that the attempt before took in would be taken again
    return cells.length == 0 && touched < 0 ? store : new Store(store, cells, touched);
  }

  /** Whether nothing needs a state any more. */
  static boolean dead(UnsafeRow state, int[] cells) {
    boolean dead = false;
    for (int i = 0; i < cells.length; i++) {
      if (!state.isNullAt(cells[i])) {
        if (state.getByte(cells[i]) != 0) {
          return false;
        }
        dead = true;
      }
    }
    return dead;
  }

  private static final class Store implements StateStore {
    private final StateStore store;
    private final int[] cells;
    private final int touched;
    private final Set<UnsafeRow> dead = new HashSet<UnsafeRow>();
    private String family;
    private boolean tooMany;

    Store(StateStore store, int[] cells, int touched) {
      this.store = store;
      this.cells = cells;
      this.touched = touched;
    }

    @Override
    public void put(UnsafeRow key, UnsafeRow value, String family) {
      if (touched >= 0) {
        if (value.isNullAt(touched)) {
          return;
        }
        value.setNullAt(touched);
      }
      store.put(key, value, family);
      this.family = family;
      if (tooMany) {
        return;
      }
      if (!Forgetting.dead(value, cells)) {
        if (!dead.isEmpty()) {
          dead.remove(key);
        }
      } else if (dead.size() < REMEMBERED) {
        dead.add(key.copy());
      } else {
        tooMany = true;
        dead.clear();
      }
    }

    @Override
    public long commit() {
      if (tooMany) {
        lookThrough();
      } else {
        for (UnsafeRow key : dead) {
          store.remove(key, family);
        }
      }
      return store.commit();
    }

    /** Removes the dead as it finds them: RocksDB's iterator sees the state as it was when it began. */
    private void lookThrough() {
      StateStoreIterator all = store.iterator(family);
      try {
        while (all.hasNext()) {
          UnsafeRowPair pair = (UnsafeRowPair) all.next();
          if (Forgetting.dead(pair.value(), cells)) {
            store.remove(pair.key(), family);
          }
        }
      } finally {
        all.close();
      }
    }

    // All else is the store's.

    @Override
    public StateStoreId id() {
      return store.id();
    }

    @Override
    public long version() {
      return store.version();
    }

    @Override
    public UnsafeRow get(UnsafeRow key, String family) {
      return store.get(key, family);
    }

    @Override
    public Iterator<UnsafeRow> multiGet(UnsafeRow[] keys, String family) {
      return store.multiGet(keys, family);
    }

    @Override
    public boolean keyExists(UnsafeRow key, String family) {
      return store.keyExists(key, family);
    }

    @Override
    public Iterator<UnsafeRow> valuesIterator(UnsafeRow key, String family) {
      return store.valuesIterator(key, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> prefixScan(UnsafeRow prefix, String family) {
      return store.prefixScan(prefix, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> prefixScanWithMultiValues(UnsafeRow prefix, String family) {
      return store.prefixScanWithMultiValues(prefix, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> rangeScan(Option<UnsafeRow> from, Option<UnsafeRow> to, String family) {
      return store.rangeScan(from, to, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> rangeScanWithMultiValues(
        Option<UnsafeRow> from, Option<UnsafeRow> to, String family) {
      return store.rangeScanWithMultiValues(from, to, family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> iterator(String family) {
      return store.iterator(family);
    }

    @Override
    public StateStoreIterator<UnsafeRowPair> iteratorWithMultiValues(String family) {
      return store.iteratorWithMultiValues(family);
    }

    @Override
    public scala.collection.immutable.Set<String> allColumnFamilyNames() {
      return store.allColumnFamilyNames();
    }

    @Override
    public void registerColFamily(
        String name, StructType key, StructType value, KeyStateEncoderSpec encoder, boolean several, boolean internal) {
      store.registerColFamily(name, key, value, encoder, several, internal);
    }

    @Override
    public boolean removeColFamilyIfExists(String name) {
      return store.removeColFamilyIfExists(name);
    }

    @Override
    public void createColFamilyIfAbsent(
        String name, StructType key, StructType value, KeyStateEncoderSpec encoder, boolean several, boolean internal) {
      store.createColFamilyIfAbsent(name, key, value, encoder, several, internal);
    }

    @Override
    public void putList(UnsafeRow key, UnsafeRow[] values, String family) {
      store.putList(key, values, family);
    }

    @Override
    public void remove(UnsafeRow key, String family) {
      store.remove(key, family);
    }

    @Override
    public void deleteRange(UnsafeRow from, UnsafeRow to, String family) {
      store.deleteRange(from, to, family);
    }

    @Override
    public void merge(UnsafeRow key, UnsafeRow value, String family) {
      store.merge(key, value, family);
    }

    @Override
    public void mergeList(UnsafeRow key, UnsafeRow[] values, String family) {
      store.mergeList(key, values, family);
    }

    @Override
    public void abort() {
      store.abort();
    }

    @Override
    public void release() {
      store.release();
    }

    @Override
    public StateStoreMetrics metrics() {
      return store.metrics();
    }

    @Override
    public StateStoreCheckpointInfo getStateStoreCheckpointInfo() {
      return store.getStateStoreCheckpointInfo();
    }

    @Override
    public boolean hasCommitted() {
      return store.hasCommitted();
    }
  }
}
