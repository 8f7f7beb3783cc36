package ksqlpy.read;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumValueDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.InvalidProtocolBufferException;
import java.util.Base64;
import java.util.Locale;

/**
 * The .proto text of a descriptor. Confluent's serializers for Python and others register descriptors in base64, which
 * some registries keep as they are.
 */
final class DescriptorText {
  private final StringBuilder out = new StringBuilder();

  private DescriptorText() {}

  /** The text that stands for a schema: itself, unless it is a descriptor. Throws IllegalArgumentException. */
  static String of(String schema) {
    if (schema.isEmpty() || !schema.chars().allMatch(DescriptorText::isBase64)) {
      return schema;
    }
    try {
      DescriptorText text = new DescriptorText();
      text.file(FileDescriptorProto.parseFrom(Base64.getDecoder().decode(schema)));
      return text.out.toString();
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("it is no schema of Protobuf");
    }
  }

  private static boolean isBase64(int c) {
    return c < 128 && (Character.isLetterOrDigit(c) || c == '+' || c == '/' || c == '=');
  }

  private void file(FileDescriptorProto file) {
    out.append("syntax = \"").append(file.getSyntax().equals("proto3") ? "proto3" : "proto2").append("\";\n");
    if (!file.getPackage().isEmpty()) {
      out.append("package ").append(file.getPackage()).append(";\n");
    }
    file.getMessageTypeList().forEach(this::message);
    file.getEnumTypeList().forEach(this::enumeration);
  }

  private void message(DescriptorProto message) {
    out.append("message ").append(message.getName()).append(" {\n");
    for (FieldDescriptorProto field : message.getFieldList()) {
      if (!field.hasOneofIndex() || field.getProto3Optional()) {
        field(field, label(field));
      }
    }
    for (int i = 0; i < message.getOneofDeclCount(); i++) {
      int index = i;
      if (message.getFieldList().stream().anyMatch(f -> isIn(f, index))) {
        out.append("oneof ").append(message.getOneofDecl(i).getName()).append(" {\n");
        message.getFieldList().stream().filter(f -> isIn(f, index)).forEach(f -> field(f, ""));
        out.append("}\n");
      }
    }
    message.getNestedTypeList().forEach(this::message);
    message.getEnumTypeList().forEach(this::enumeration);
    out.append("}\n");
  }

  private static boolean isIn(FieldDescriptorProto field, int union) {
    return field.hasOneofIndex() && !field.getProto3Optional() && field.getOneofIndex() == union;
  }

  private static String label(FieldDescriptorProto field) {
    if (field.getLabel() == Label.LABEL_REPEATED) {
      return "repeated ";
    }
    return field.getProto3Optional() ? "optional " : "";
  }

  private void field(FieldDescriptorProto field, String label) {
    Type type = field.getType();
    if (type == Type.TYPE_GROUP) {
      return; // nothing is read of it
    }
    String name =
        type == Type.TYPE_MESSAGE || type == Type.TYPE_ENUM
            ? field.getTypeName()
            : type.name().substring("TYPE_".length()).toLowerCase(Locale.ROOT);
    out.append(label).append(name).append(' ').append(field.getName());
    out.append(" = ").append(field.getNumber()).append(";\n");
  }

  private void enumeration(EnumDescriptorProto declared) {
    out.append("enum ").append(declared.getName()).append(" {\n");
    if (declared.getOptions().getAllowAlias()) {
      out.append("option allow_alias = true;\n");
    }
    for (EnumValueDescriptorProto value : declared.getValueList()) {
      out.append(value.getName()).append(" = ").append(value.getNumber()).append(";\n");
    }
    out.append("}\n");
  }
}
