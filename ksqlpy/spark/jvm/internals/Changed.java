package ksqlpy.internals;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.List;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.apache.xbean.asm9.commons.ClassRemapper;
import org.apache.xbean.asm9.commons.SimpleRemapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Classes of others that are loaded with some of their calls replaced, where there is neither a setting nor an interface
 * for what is needed. It works while they are not loaded yet.
 */
final class Changed {
  private static final Logger LOG = LoggerFactory.getLogger(Changed.class);

  private Changed() {}

  /** A call of a method, and the static method that is called instead; that of an object gets it first. */
  record Call(String method, String instead) {}

  /**
   * Loads a class with calls replaced: in its methods that begin so (name and types), or all. {@code beside}: another
   * class of its package; {@code owner}: the class with the methods that are called instead. Returns whether it could.
   */
  static boolean load(Class<?> beside, String name, String within, Class<?> owner, List<Call> calls) {
    try {
      MethodHandles.Lookup there = MethodHandles.privateLookupIn(beside, MethodHandles.lookup());
      String own = inner(owner.getName());
      if (beside.getClassLoader() != owner.getClassLoader()) { // it does not see ours
        own = inner(beside.getPackageName()) + "/" + owner.getSimpleName();
        there.defineClass(moved(owner, own));
      }
      there.defineClass(changed(beside.getClassLoader(), name, within, own, calls));
      return true;
    } catch (IOException | IllegalAccessException | RuntimeException | LinkageError e) {
      LOG.warn("{} stays as it is: {}", name, e.toString());
      return false;
    }
  }

  private static String inner(String name) {
    return name.replace('.', '/');
  }

  private static byte[] moved(Class<?> owner, String to) throws IOException {
    ClassWriter writer = new ClassWriter(0);
    read(owner.getClassLoader(), owner.getName())
        .accept(new ClassRemapper(writer, new SimpleRemapper(Opcodes.ASM9, inner(owner.getName()), to)), 0);
    return writer.toByteArray();
  }

  private static ClassReader read(ClassLoader loader, String name) throws IOException {
    try (InputStream in = loader.getResourceAsStream(inner(name) + ".class")) {
      return new ClassReader(in);
    }
  }

  private static byte[] changed(ClassLoader loader, String name, String within, String owner, List<Call> calls)
      throws IOException {
    ClassReader reader = read(loader, name);
    ClassWriter writer = new ClassWriter(reader, 0);
    Changer changer = new Changer(writer, within, owner, calls);
    reader.accept(changer, 0);
    if (changer.changed != calls.size()) {
      throw new IllegalStateException("it is of another version");
    }
    return writer.toByteArray();
  }

  private static final class Changer extends ClassVisitor {
    private final String within;
    private final String owner;
    private final List<Call> calls;
    private int changed = 0;

    Changer(ClassVisitor next, String within, String owner, List<Call> calls) {
      super(Opcodes.ASM9, next);
      this.within = within;
      this.owner = owner;
      this.calls = calls;
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String kind, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, kind, signature, exceptions);
      if (!(name + kind).startsWith(within)) {
        return next;
      }
      return new MethodVisitor(Opcodes.ASM9, next) {
        @Override
        public void visitMethodInsn(int opcode, String of, String method, String types, boolean ofInterface) {
          for (Call call : calls) {
            if (call.method().equals(of + "." + method + types)) {
              changed++;
              String given = opcode == Opcodes.INVOKESTATIC ? types : "(L" + of + ";" + types.substring(1);
              super.visitMethodInsn(Opcodes.INVOKESTATIC, owner, call.instead(), given, false);
              return;
            }
          }
          super.visitMethodInsn(opcode, of, method, types, ofInterface);
        }
      };
    }
  }
}
