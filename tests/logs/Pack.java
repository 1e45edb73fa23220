import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;

/** Packs a file with Spark's own codec: {@code java -cp 'jars/*' Pack.java FILE CODEC=TARGET...}; gzip is Java's. */
public class Pack {
  public static void main(String[] arguments) throws Exception {
    for (int index = 1; index < arguments.length; index++) {
      String[] words = arguments[index].split("=", 2);
      try (InputStream plain = new BufferedInputStream(Files.newInputStream(Path.of(arguments[0])), 1 << 20);
          OutputStream file = new BufferedOutputStream(Files.newOutputStream(Path.of(words[1])), 1 << 20);
          OutputStream packed = packed(words[0], file)) {
        plain.transferTo(packed);
      }
    }
  }

  private static OutputStream packed(String codec, OutputStream file) throws Exception {
    return codec.equals("gzip")
        ? new GZIPOutputStream(file, 1 << 16)
        : CompressionCodec.createCodec(new SparkConf(false), codec).compressedOutputStream(file);
  }
}
