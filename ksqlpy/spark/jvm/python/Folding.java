package ksqlpy.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * What an aggregate in Python keeps of a group, and how rows change it: each step is a call of one of its methods.
 *
 * <p>Spark makes a state of each row, and merges it into that of the group. A method adds a row to a state, and what
 * makes one state of two may be missing. So the state of a row is the row, until it meets that of its group. In sessions
 * rows come to the state of the group themselves ({@code adds}).
 *
 * <p>A cell is {@code STRUCT<state, row>}, of which {@code row} is what has not come to a state yet; the state store has
 * none. It is null as long as there is neither.
 */
public final class Folding implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static final int STATE = 0;
  private static final int ROW = 1;

  private static final int COME = 0;
  private static final int GONE = 1;

  private final String what;
  private final StructType row;
  private transient volatile Methods methods; // made again where a task runs

  /**
   * {@code what}: {@code {"call":…,"methods":{"add":{"takes":…,"gives":…},…},"adds":…}}, all that is said of a call, and
   * the rest for each method. {@code row}: {@code STRUCT<come [, gone]>}, of structs of the arguments.
   */
  public Folding(String what, StructType row) {
    this.what = what;
    this.row = row.asNullable();
    this.methods = new Methods(what);
  }

  /** The methods, and what they give alike for all groups. */
  private static final class Methods {
    private final boolean adds;
    private final Call init;
    private final Call add;
    private final Call undo;
    private final Call merge;
    private final Call result;
    private volatile GenericInternalRow initial;

    Methods(String what) {
      try {
        JsonNode described = MAPPER.readTree(what);
        adds = described.path("adds").asBoolean();
        init = call(described, "init");
        add = call(described, "add");
        undo = call(described, "undo");
        merge = call(described, "merge");
        result = call(described, "result");
      } catch (JsonProcessingException e) {
        throw new IllegalArgumentException("it is no aggregate in Python: " + e.getOriginalMessage());
      }
    }

    private static Call call(JsonNode described, String method) throws JsonProcessingException {
      JsonNode types = described.path("methods").path(method);
      if (types.isMissingNode()) {
        return null;
      }
      ObjectNode whole = described.get("call").deepCopy();
      whole.put("method", method);
      whole.setAll((ObjectNode) types);
      return Call.of(MAPPER.writeValueAsString(whole));
    }
  }

  private Methods methods() {
    Methods known = methods;
    if (known == null) {
      known = new Methods(what);
      methods = known;
    }
    return known;
  }

  /** The type of what is kept of a group. */
  public DataType cell() {
    return new StructType().add("state", methods().init.gives.spark).add("row", row);
  }

  /** The type of the result. */
  public DataType result() {
    return methods().result.gives.spark;
  }

  /** The cell with a row that comes, one that is gone, or both. */
  public InternalRow update(InternalRow cell, InternalRow row) {
    if (row.isNullAt(COME) && (row.numFields() == 1 || row.isNullAt(GONE))) {
      return cell;
    }
    if (cell == null && !methods().adds) {
      return new GenericInternalRow(new Object[] {null, row.copy()});
    }
    return changed(known(cell), row);
  }

  /** The cell of both; {@code right} comes after what is in {@code left}. */
  public InternalRow merge(InternalRow left, InternalRow right) {
    if (right == null) {
      return left;
    }
    if (left == null) {
      return known(right);
    }
    GenericInternalRow known = known(left);
    if (!right.isNullAt(ROW)) {
      return changed(known, right.getStruct(ROW, row.length()));
    }
    Methods methods = methods();
    if (methods.merge == null) {
      throw new IllegalStateException(methods.init.name + " has no merge");
    }
    return known == null ? right : called(methods.merge, known, state(known), state(right));
  }

  /** The value of the group. */
  public Object result(InternalRow cell) {
    GenericInternalRow known = known(cell);
    return known == null ? null : methods().result.askOr(null, new GenericInternalRow(new Object[] {state(known)}));
  }

  /** A cell with a state, with what waits in it; null if there is none, since it cannot be begun. */
  private GenericInternalRow known(InternalRow cell) {
    if (cell == null) {
      return initial();
    }
    if (cell.isNullAt(ROW)) {
      return cell instanceof GenericInternalRow known ? known : of(state(cell));
    }
    return changed(initial(), cell.getStruct(ROW, row.length()));
  }

  private GenericInternalRow initial() {
    Methods methods = methods();
    if (methods.initial == null) {
      methods.initial = called(methods.init, null);
    }
    return methods.initial;
  }

  /** With the row that is gone taken back, and that which comes added. A call that fails leaves it as it is. */
  private GenericInternalRow changed(GenericInternalRow cell, InternalRow by) {
    GenericInternalRow changed = cell;
    if (by.numFields() > 1 && !by.isNullAt(GONE) && changed != null) {
      changed = withArguments(methods().undo, changed, by, GONE);
    }
    if (!by.isNullAt(COME) && changed != null) {
      changed = withArguments(methods().add, changed, by, COME);
    }
    return changed;
  }

  private GenericInternalRow withArguments(Call method, GenericInternalRow cell, InternalRow by, int which) {
    StructType types = (StructType) row.apply(which).dataType();
    InternalRow arguments = by.getStruct(which, types.length());
    Object[] given = new Object[method.takes.length];
    given[0] = state(cell);
    for (int i = 1; i < given.length; i++) {
      given[i] = arguments.isNullAt(i - 1) ? null : arguments.get(i - 1, types.apply(i - 1).dataType());
    }
    return called(method, cell, given);
  }

  private static GenericInternalRow called(Call method, GenericInternalRow otherwise, Object... arguments) {
    Object state = method.askOr(Call.FAILED, new GenericInternalRow(arguments));
    return state == Call.FAILED ? otherwise : of(state);
  }

  private Object state(InternalRow cell) {
    return cell.isNullAt(STATE) ? null : cell.get(STATE, methods().init.gives.spark);
  }

  private static GenericInternalRow of(Object state) {
    return new GenericInternalRow(new Object[] {state, null});
  }
}
