package ksqlpy.speedups;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HexFormat;
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
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IntegralDivide;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.Remainder;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.UnresolvedNamedLambdaVariable;
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
 * Makes Spark's unresolved expression of its text: names, literals, calls, lambdas, CASE WHEN, CAST, struct, operators, IS
 * NULL, IN, BETWEEN, LIKE, aliases; as Spark's own parser does, and nothing where it does not know for sure how that does.
 *
 * <p>It reads a text once, from left to right. Spark's grammar looks ahead from each parenthesis to its end: a nested
 * expression of 17 KB takes seconds there, and some 100 MB.
 */
public final class ExpressionReader extends ExpressionText {
  /** Words that are no column where they stand alone, and no plain function ahead of a parenthesis. */
  private static final Set<String> OTHER =
      Set.of(
          "all", "any", "any_value", "between", "collate", "current_date", "current_schema", "current_time",
          "current_timestamp", "current_user", "date_add", "date_diff", "dateadd", "datediff", "distinct",
          "div", "else", "end", "extract", "first", "first_value", "from", "identifier",
          "in", "interval", "lambda", "last_value", "like", "listagg", "localtime", "mode", "overlay",
          "percentile_cont", "percentile_disc", "position", "rlike", "select", "session_user", "some",
          "string_agg", "table", "then", "timestampadd", "timestampdiff", "try_cast", "user", "using",
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

  /** Functions where a parenthesis follows, and no column elsewhere. */
  private static final Set<String> CALLED = Set.of("exists", "filter", "trim");

  /** The lambdas around. A name in one may be its parameter, which is for the analyser to say. */
  private int lambdas;

  private ExpressionReader(String text) {
    super(text);
  }

  /** The expression; null if it has something that only Spark's parser knows, or an error that it will tell. */
  public static Expression read(String text) {
    try {
      ExpressionReader reader = new ExpressionReader(text);
      Expression read = reader.comes('*') ? reader.star(null) : reader.named();
      return reader.atEnd() ? read : null;
    } catch (Unknown | StackOverflowError e) {
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
    if (comesWord("is")) {
      boolean not = comesWord("not");
      if (!comesWord("null")) {
        throw new Unknown();
      }
      return not ? new IsNotNull(value) : new IsNull(value);
    }
    boolean not = comesWord("not");
    if (comesWord("in")) {
      value = new In(value, seq(items(false)));
    } else if (comesWord("between")) {
      Expression least = compared();
      if (!comesWord("and")) {
        throw new Unknown();
      }
      value = function(List.of("between"), List.of(value, least, compared()));
    } else if (comesWord("like")) {
      value = new Like(value, compared());
    } else if (not) {
      throw new Unknown();
    }
    return not ? new Not(value) : value;
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
        Seq<String> before =
            value instanceof UnresolvedAttribute column
                ? column.nameParts()
                : value instanceof UnresolvedNamedLambdaVariable variable ? variable.nameParts() : null;
        if (before != null) {
          List<String> parts = new ArrayList<>(CollectionConverters.asJava(before));
          parts.add(field);
          value = column(parts);
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
      List<String> parameters = parameters();
      if (parameters != null) {
        return lambda(parameters);
      }
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
    if (lower.equals("x") && follows('\'')) {
      return bytes();
    }
    if (next() == '\'' || OTHER.contains(lower) || CALLED.contains(lower) && next() != '(') {
      throw new Unknown();
    }
    if (comesAll("->")) {
      return lambda(List.of(word));
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
    return next() == '(' ? function(parts, items(false)) : column(parts);
  }

  private Expression column(List<String> parts) {
    return lambdas > 0 ? new UnresolvedNamedLambdaVariable(seq(parts)) : new UnresolvedAttribute(seq(parts));
  }

  /** Those of a lambda that has several, behind the parenthesis; null, and nothing is read, if it is another's. */
  private List<String> parameters() {
    int begin = at;
    List<String> names = new ArrayList<>();
    do {
      if (!isOfName(next()) || isDigit(next())) {
        break;
      }
      names.add(name());
    } while (comes(','));
    if (names.size() > 1 && comes(')') && comesAll("->")) {
      return names;
    }
    at = begin;
    return null;
  }

  private Expression lambda(List<String> names) {
    List<NamedExpression> parameters = new ArrayList<>();
    for (String name : names) {
      if (OTHER.contains(name.toLowerCase(Locale.ROOT))) {
        throw new Unknown();
      }
      parameters.add(new UnresolvedNamedLambdaVariable(seq(List.of(name))));
    }
    lambdas++;
    Expression body = either();
    lambdas--;
    return new LambdaFunction(body, seq(parameters), false);
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
    boolean simple = !comesWord("when");
    Expression value = simple ? either() : null;
    while (!simple && branches.isEmpty() || comesWord("when")) {
      Expression condition = simple ? new EqualTo(value, either()) : either();
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
    if (name.equals("array") && comes('<')) {
      DataType item = type(name().toLowerCase(Locale.ROOT));
      must('>');
      return DataTypes.createArrayType(item);
    }
    if (name.equals("map") && comes('<')) {
      DataType key = type(name().toLowerCase(Locale.ROOT));
      must(',');
      DataType value = type(name().toLowerCase(Locale.ROOT));
      must('>');
      return DataTypes.createMapType(key, value);
    }
    if (name.equals("decimal") && comes('(')) {
      int precision = Integer.parseInt(digits());
      int scale = comes(',') ? Integer.parseInt(digits()) : 0;
      must(')');
      if (precision <= 38 && scale <= precision) {
        return DataTypes.createDecimalType(precision, scale);
      }
    }
    DataType type = name.equals("void") ? DataTypes.NullType : TYPES.get(name);
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

  /** Behind an X. */
  private Expression bytes() {
    int end = text.indexOf('\'', at + 1);
    String digits = end < 0 ? "" : text.substring(at + 1, end);
    try {
      byte[] read = HexFormat.of().parseHex(digits);
      at = end + 1;
      if (end < 0 || next() == '\'') {
        throw new Unknown();
      }
      return Literal.create(read, DataTypes.BinaryType);
    } catch (IllegalArgumentException e) {
      throw new Unknown();
    }
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
    if (kind == 'E') {
      digits += follows('-') || follows('+') ? "E" + text.charAt(at++) : "E";
      if (at >= text.length() || !isDigit(text.charAt(at))) {
        throw new Unknown();
      }
      digits += digits();
    }
    if (at < text.length() && (isOfName(text.charAt(at)) || text.charAt(at) == '.')) {
      throw new Unknown();
    }
    if (kind == 'D' || kind == 'E') {
      return Literal.create(Double.valueOf(digits), DataTypes.DoubleType);
    }
    if (!whole && !isOfName(kind)) {
      return Literal$.MODULE$.apply(new BigDecimal(digits));
    }
    if (!whole) {
      throw new Unknown();
    }
    long value;
    try {
      value = Long.parseLong(digits);
    } catch (NumberFormatException e) { // it is a decimal
      throw new Unknown();
    }
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

  private static <T> Seq<T> seq(List<T> items) {
    return List$.MODULE$.from(CollectionConverters.asScala(items));
  }

  private static <T> Seq<T> none() {
    return seq(List.of());
  }
}
