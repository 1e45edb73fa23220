import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;

/** Compresses a file with Spark's codecs, or Java's gzip: {@code java -cp 'jars/*' Compress.java FILE CODEC=TARGET...}. */
public class Compress {
  public static void main(String[] arguments) throws Exception {
    for (int index = 1; index < arguments.length; index++) {
      String[] words = arguments[index].split("=", 2);
      try (InputStream plain = new BufferedInputStream(Files.newInputStream(Path.of(arguments[0])), 1 << 20);
          OutputStream file = new BufferedOutputStream(Files.newOutputStream(Path.of(words[1])), 1 << 20);
          OutputStream compressed = compressed(words[0], file)) {
        plain.transferTo(compressed);
      }
    }
  }

  private static OutputStream compressed(String codec, OutputStream file) throws Exception {
    return codec.equals("gzip")
        ? new GZIPOutputStream(file, 1 << 16)
        : CompressionCodec.createCodec(new SparkConf(false), codec).compressedOutputStream(file);
  }
}
