package ksqlpy.speedups;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import ksqlpy.internals.EncodedLiterals;
import org.apache.spark.sql.catalyst.analysis.MultiAlias;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedExtractValue;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.CreateStruct$;
import org.apache.spark.sql.catalyst.expressions.Divide;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.IntegralDivide;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.Remainder;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * Makes Spark's unresolved expression of its text: names, literals, calls, CASE WHEN, CAST to a simple type, struct,
 * operators, IS NULL, aliases; as Spark's own parser does, and nothing where it does not know for sure how that does.
 */
public final class ExpressionReader {
  /** Words that are no column where they stand alone, and no plain function ahead of a parenthesis. */
  private static final Set<String> OTHER =
      Set.of(
          "all", "any", "any_value", "between", "collate", "current_date", "current_schema", "current_time",
          "current_timestamp", "current_user", "date_add", "date_diff", "dateadd", "datediff", "distinct",
          "div", "else", "end", "exists", "extract", "filter", "first", "first_value", "from", "identifier",
          "in", "interval", "lambda", "last_value", "like", "listagg", "localtime", "mode", "overlay",
          "percentile_cont", "percentile_disc", "position", "rlike", "select", "session_user", "some",
          "string_agg", "table", "then", "timestampadd", "timestampdiff", "trim", "try_cast", "user", "using",
          "when", "with");

  /** Types that are one word. */
  private static final Map<String, DataType> TYPES =
      Map.of(
          "bigint", DataTypes.LongType,
          "binary", DataTypes.BinaryType,
          "boolean", DataTypes.BooleanType,
          "date", DataTypes.DateType,
          "double", DataTypes.DoubleType,
          "int", DataTypes.IntegerType,
          "smallint", DataTypes.ShortType,
          "string", DataTypes.StringType,
          "timestamp", DataTypes.TimestampType,
          "tinyint", DataTypes.ByteType);

  private final String text;
  private int at;

  private ExpressionReader(String text) {
    this.text = text;
  }

  /** The expression; null if it has something that only Spark's parser knows, or an error that it will tell. */
  public static Expression read(String text) {
    try {
      ExpressionReader reader = new ExpressionReader(text);
      Expression read = reader.comes('*') ? reader.star(null) : reader.named();
      return reader.atEnd() ? read : null;
    } catch (Unknown e) {
      return null;
    }
  }

  // ------------------------------------------------------------ operators, weakest first

  private Expression named() {
    Expression value = either();
    if (!comesWord("as")) {
      return value;
    }
    if (!comes('(')) {
      return new Alias(value, name(), NamedExpression$.MODULE$.newExprId(), none(), Option.empty(), none());
    }
    List<String> names = new ArrayList<>();
    do {
      names.add(name());
    } while (comes(','));
    must(')');
    return new MultiAlias(value, seq(names));
  }

  private Expression either() {
    List<Expression> parts = new ArrayList<>();
    do {
      parts.add(both());
    } while (comesWord("or"));
    return balanced(parts, 0, parts.size() - 1, true);
  }

  private Expression both() {
    List<Expression> parts = new ArrayList<>();
    do {
      parts.add(negated());
    } while (comesWord("and"));
    return balanced(parts, 0, parts.size() - 1, false);
  }

  /** Spark makes a flat tree of a chain. */
  private Expression balanced(List<Expression> parts, int low, int high, boolean or) {
    if (low == high) {
      return parts.get(low);
    }
    int middle = high - low == 1 ? low : low + (high - low) / 2;
    Expression left = balanced(parts, low, middle, or);
    Expression right = balanced(parts, middle + 1, high, or);
    return or ? new Or(left, right) : new And(left, right);
  }

  private Expression negated() {
    return comesWord("not") ? new Not(negated()) : tested();
  }

  private Expression tested() {
    Expression value = compared();
    if (!comesWord("is")) {
      return value;
    }
    boolean not = comesWord("not");
    if (!comesWord("null")) {
      throw new Unknown();
    }
    return not ? new IsNotNull(value) : new IsNull(value);
  }

  private Expression compared() {
    Expression left = sum();
    while (true) {
      if (comesAll("<=>")) {
        left = new EqualNullSafe(left, sum());
      } else if (comesAll("<=")) {
        left = new LessThanOrEqual(left, sum());
      } else if (comesAll(">=")) {
        left = new GreaterThanOrEqual(left, sum());
      } else if (comesAll("<>") || comesAll("!=")) {
        left = new Not(new EqualTo(left, sum()));
      } else if (comesAlone('=', "=>")) {
        left = new EqualTo(left, sum());
      } else if (comesAlone('<', "<")) {
        left = new LessThan(left, sum());
      } else if (comesAlone('>', ">")) {
        left = new GreaterThan(left, sum());
      } else {
        return left;
      }
    }
  }

  private Expression sum() {
    Expression left = product();
    while (true) {
      if (comesAlone('+', "")) {
        left = new Add(left, product());
      } else if (comesAlone('-', "->")) {
        left = new Subtract(left, product());
      } else if (comesAll("||")) {
        left = new Concat(seq(List.of(left, product())));
      } else {
        return left;
      }
    }
  }

  private Expression product() {
    Expression left = signed();
    while (true) {
      if (comesAlone('*', "")) {
        left = new Multiply(left, signed());
      } else if (comesAlone('/', "*")) {
        left = new Divide(left, signed());
      } else if (comesWord("div")) {
        left = new IntegralDivide(left, signed());
      } else if (comesAlone('%', "")) {
        left = new Remainder(left, signed());
      } else {
        return left;
      }
    }
  }

  private Expression signed() {
    if (!comesAlone('-', "-")) {
      return picked();
    }
    return isDigit(next()) ? number("-") : new UnaryMinus(signed());
  }

  /** With its fields and elements. */
  private Expression picked() {
    Expression value = single();
    while (true) {
      if (comes('.')) {
        String field = name();
        if (value instanceof UnresolvedAttribute column) {
          List<String> parts = new ArrayList<>(CollectionConverters.asJava(column.nameParts()));
          parts.add(field);
          value = new UnresolvedAttribute(seq(parts));
        } else {
          value = new UnresolvedExtractValue(value, string(field));
        }
      } else if (comes('[')) {
        Expression index = sum();
        must(']');
        value = new UnresolvedExtractValue(value, index);
      } else {
        return value;
      }
    }
  }

  // ------------------------------------------------------------ what stands between operators

  private Expression single() {
    char c = next();
    if (c == '(') {
      at++;
      Expression inside = either();
      must(')');
      return inside;
    }
    if (c == '\'') {
      return text();
    }
    if (isDigit(c)) {
      return number("");
    }
    if (c == '`') {
      return called(name());
    }
    String word = name();
    String lower = word.toLowerCase(Locale.ROOT);
    if (next() == '\'' || OTHER.contains(lower)) {
      throw new Unknown();
    }
    if (lower.equals("null")) {
      return Literal.create(null, DataTypes.NullType);
    }
    if (lower.equals("true") || lower.equals("false")) {
      return Literal.create(Boolean.valueOf(lower), DataTypes.BooleanType);
    }
    if (lower.equals("case")) {
      return choice();
    }
    if (next() == '(') {
      if (lower.equals("cast")) {
        return cast();
      }
      if (lower.equals("struct")) {
        return CreateStruct$.MODULE$.create(seq(items(true)));
      }
      if (lower.equals("last")) {
        return last();
      }
      if (lower.equals("ksqlpy_text")) {
        return passed();
      }
    } else if (lower.equals("not") || lower.equals("and") || lower.equals("or") || lower.equals("is")) {
      throw new Unknown();
    }
    return called(word);
  }

  /** A column, all columns of one, or what a function gives. */
  private Expression called(String first) {
    List<String> parts = new ArrayList<>();
    parts.add(first);
    while (comes('.')) {
      if (comes('*')) {
        return star(parts);
      }
      parts.add(name());
    }
    if (next() != '(') {
      return new UnresolvedAttribute(seq(parts));
    }
    return function(parts, items(false));
  }

  private static Expression function(List<String> parts, List<Expression> arguments) {
    return new UnresolvedFunction(seq(parts), seq(arguments), false, Option.empty(), Option.empty(), none(), false);
  }

  private Expression star(List<String> parts) {
    return new UnresolvedStar(parts == null ? Option.empty() : Option.apply(seq(parts)));
  }

  /** In parentheses. */
  private List<Expression> items(boolean named) {
    List<Expression> items = new ArrayList<>();
    must('(');
    if (comes(')')) {
      return items;
    }
    do {
      if (next() == '*') {
        throw new Unknown();
      }
      items.add(named ? named() : either());
    } while (comes(','));
    must(')');
    return items;
  }

  private Expression choice() {
    List<Tuple2<Expression, Expression>> branches = new ArrayList<>();
    while (comesWord("when")) {
      Expression condition = either();
      if (!comesWord("then")) {
        throw new Unknown();
      }
      branches.add(new Tuple2<>(condition, either()));
    }
    Option<Expression> otherwise = comesWord("else") ? Option.apply(either()) : Option.empty();
    if (branches.isEmpty() || !comesWord("end")) {
      throw new Unknown();
    }
    return new CaseWhen(seq(branches), otherwise);
  }

  private Expression cast() {
    must('(');
    Expression value = either();
    if (!comesWord("as")) {
      throw new Unknown();
    }
    DataType type = type(name().toLowerCase(Locale.ROOT));
    must(')');
    Cast cast = new Cast(value, type, Option.empty());
    cast.setTagValue(Cast$.MODULE$.USER_SPECIFIED_CAST(), BoxedUnit.UNIT);
    return cast;
  }

  private DataType type(String name) {
    if (name.equals("decimal") && comes('(')) {
      int precision = Integer.parseInt(digits());
      int scale = comes(',') ? Integer.parseInt(digits()) : 0;
      must(')');
      if (precision <= 38 && scale <= precision) {
        return DataTypes.createDecimalType(precision, scale);
      }
    }
    DataType type = TYPES.get(name);
    if (type == null) {
      throw new Unknown();
    }
    return type;
  }

  private Expression last() {
    List<Expression> items = items(false);
    return items.size() == 1
        ? new Last(items.get(0), false).toAggregateExpression()
        : function(List.of("last"), items);
  }

  /** See {@link EncodedLiterals}. */
  private Expression passed() {
    must('(');
    next();
    int end = text.indexOf("')", at);
    if (end < 0 || text.charAt(at) != '\'') {
      throw new Unknown();
    }
    Expression literal = EncodedLiterals.literal(text.substring(at + 1, end));
    at = end + 2;
    return literal;
  }

  private Expression text() {
    int end = text.indexOf('\'', at + 1);
    String inside = end < 0 ? "\\" : text.substring(at + 1, end);
    if (inside.indexOf('\\') >= 0) {
      throw new Unknown();
    }
    at = end + 1;
    if (at < text.length() && text.charAt(at) == '\'' || next() == '\'') {
      throw new Unknown();
    }
    return string(inside);
  }

  private static Expression string(String value) {
    return Literal.create(UTF8String.fromString(value), DataTypes.StringType);
  }

  private Expression number(String sign) {
    String digits = sign + digits();
    boolean whole = at >= text.length() || text.charAt(at) != '.';
    if (!whole) {
      at++;
      digits += "." + digits();
    }
    char kind = at < text.length() ? Character.toUpperCase(text.charAt(at)) : ' ';
    if (isOfName(kind)) {
      at++;
    }
    if (at < text.length() && (isOfName(text.charAt(at)) || text.charAt(at) == '.') || digits.length() > 18) {
      throw new Unknown();
    }
    if (kind == 'D') {
      return Literal.create(Double.valueOf(digits), DataTypes.DoubleType);
    }
    if (!whole) {
      throw new Unknown();
    }
    long value = Long.parseLong(digits);
    if (kind == 'Y' && value == (byte) value) {
      return Literal.create(Byte.valueOf((byte) value), DataTypes.ByteType);
    }
    if (kind == 'S' && value == (short) value) {
      return Literal.create(Short.valueOf((short) value), DataTypes.ShortType);
    }
    if (kind == 'L' || !isOfName(kind) && value != (int) value) {
      return Literal.create(Long.valueOf(value), DataTypes.LongType);
    }
    if (isOfName(kind)) {
      throw new Unknown();
    }
    return Literal.create(Integer.valueOf((int) value), DataTypes.IntegerType);
  }

  // ------------------------------------------------------------ characters

  private String digits() {
    next();
    int begin = at;
    while (at < text.length() && isDigit(text.charAt(at))) {
      at++;
    }
    if (at == begin || at - begin > 18) {
      throw new Unknown();
    }
    return text.substring(begin, at);
  }

  private String name() {
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
  private char next() {
    while (at < text.length() && text.charAt(at) == ' ') {
      at++;
    }
    return at < text.length() ? text.charAt(at) : (char) 0;
  }

  private boolean atEnd() {
    return next() == 0 && at >= text.length();
  }

  private boolean comes(char c) {
    boolean comes = next() == c;
    if (comes) {
      at++;
    }
    return comes;
  }

  private boolean comesAll(String sign) {
    next();
    boolean comes = text.startsWith(sign, at);
    if (comes) {
      at += sign.length();
    }
    return comes;
  }

  /** Unless one of the others follows at once, with which it would be another sign. */
  private boolean comesAlone(char c, String others) {
    if (next() != c) {
      return false;
    }
    if (at + 1 < text.length() && others.indexOf(text.charAt(at + 1)) >= 0) {
      throw new Unknown();
    }
    at++;
    return true;
  }

  private boolean comesWord(String lower) {
    next();
    int end = at + lower.length();
    boolean comes =
        text.regionMatches(true, at, lower, 0, lower.length()) && (end == text.length() || !isOfName(text.charAt(end)));
    if (comes) {
      at = end;
    }
    return comes;
  }

  private void must(char c) {
    if (!comes(c)) {
      throw new Unknown();
    }
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isOfName(char c) {
    return isDigit(c) || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
  }

  private static <T> Seq<T> seq(List<T> items) {
    return List$.MODULE$.from(CollectionConverters.asScala(items));
  }

  private static <T> Seq<T> none() {
    return seq(List.of());
  }

  /** Something that is left to Spark's parser. */
  private static final class Unknown extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Unknown() {
      super(null, null, false, false);
    }
  }
}
