package reprise;

import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import com.dylibso.chicory.wasm.Parser;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Replays the shared vectors and the shared trace on Chicory, then schedules a few retries. Run by
 * {@code mvn -q compile exec:java} in this folder; fails when a result differs.
 */
public final class Replay {
  private static final Path CORE = Path.of("../..");
  private static final int ENTRY_BYTES = 32;
  private static final Pattern NUMBERS = Pattern.compile("\\[([-+.0-9eE, ]+)\\]");

  private final Instance instance =
      Instance.builder(Parser.parse(CORE.resolve("reprise_core.wasm").toFile())).build();
  private final Memory memory = instance.memory();
  private final int area = (int) call("area_at");

  private long call(String name, long... arguments) {
    long[] results = instance.export(name).apply(arguments);
    return results == null || results.length == 0 ? 0 : results[0];
  }

  private double number(String name, long... arguments) {
    return Double.longBitsToDouble(call(name, arguments));
  }

  private static long f64(double value) {
    return Double.doubleToRawLongBits(value);
  }

  private int popDue(double now, double max) {
    return (int) call("pop_due", f64(now), f64(max));
  }

  private static String read(String name) throws Exception {
    return Files.readString(CORE.resolve(name));
  }

  /** The rows of one array of the vectors; the file has nothing but numbers inside brackets. */
  private static List<double[]> rows(String json, String from, String to) {
    int end = to == null ? json.length() : json.indexOf(to);
    var matcher = NUMBERS.matcher(json.substring(json.indexOf(from), end));
    List<double[]> rows = new ArrayList<>();
    while (matcher.find()) {
      String[] fields = matcher.group(1).split(",");
      double[] row = new double[fields.length];
      for (int at = 0; at < row.length; at++) row[at] = Double.parseDouble(fields[at].trim());
      rows.add(row);
    }
    return rows;
  }

  private static int checkVectors() throws Exception {
    Replay core = new Replay();
    String json = read("vectors/delay.json");
    List<double[]> delays = rows(json, "\"delay\"", "\"jitter_fields\"");
    List<double[]> jitters = rows(json, "\"jitter\"", null);
    for (double[] row : delays) core.verify("delay", row);
    for (double[] row : jitters) core.verify("jitter", row);
    return delays.size() + jitters.size();
  }

  private void verify(String name, double[] row) {
    long[] arguments = new long[row.length - 1];
    for (int at = 0; at < arguments.length; at++) arguments[at] = f64(row[at]);
    double found = number(name, arguments);
    if (found != row[row.length - 1]) throw new AssertionError(name + " gave " + found);
  }

  private static byte[] replay() throws Exception {
    Replay core = new Replay();
    long[] groups = new long[4];
    for (int at = 0; at < groups.length; at++) groups[at] = core.call("group_open");
    List<Double> handles = new ArrayList<>();
    StringBuilder out = new StringBuilder();
    for (String line : read("vectors/trace.txt").split("\n")) {
      String[] fields = line.split(" ");
      long first = Long.parseLong(fields[1]);
      switch (fields[0]) {
        case "i" -> {
          long due = f64(Long.parseLong(fields[2]));
          double handle =
              core.number("insert", groups[(int) first], due, Long.parseLong(fields[3]));
          handles.add(handle);
          out.append("i ").append((long) handle).append('\n');
        }
        case "c" -> {
          double result = core.number("cancel", f64(handles.get((int) first)));
          out.append("c ").append((long) result).append('\n');
        }
        case "p" -> {
          double result = core.number("group_clear", groups[(int) first]);
          out.append("p ").append((long) result).append('\n');
        }
        default -> core.writeDue(core.popDue(first, Long.parseLong(fields[2])), out);
      }
    }
    return out.toString().getBytes(StandardCharsets.UTF_8);
  }

  private void writeDue(int count, StringBuilder out) {
    out.append("d ").append(count).append('\n');
    for (int at = area; at < area + count * ENTRY_BYTES; at += ENTRY_BYTES) {
      out.append(memory.readU32(at)).append(' ').append(memory.readU32(at + 4)).append(' ');
      out.append((long) memory.readDouble(at + 8)).append(' ');
      out.append((long) memory.readDouble(at + 16)).append('\n');
    }
  }

  /** Three jobs that failed once, twice and three times wait for their next attempt. */
  private static void example() {
    Replay core = new Replay();
    long retries = core.call("group_open");
    double now = 1_000_000;
    for (int attempt = 1; attempt <= 3; attempt++) {
      double delay = core.number("delay", f64(500), f64(2), f64(30_000), f64(attempt));
      core.call("insert", retries, f64(now + delay), attempt);
    }
    double next;
    while ((next = core.number("next_due")) != Double.POSITIVE_INFINITY) {
      now = Math.max(now, next); // a real program sleeps until then
      int count = core.popDue(now, 64);
      for (int index = 0; index < count; index++) {
        long job = core.memory.readU32(core.area + index * ENTRY_BYTES);
        System.out.printf("example: job %d runs again at %.0f%n", job, now);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    System.out.println("vectors: " + checkVectors() + " as expected");
    byte[] results = replay();
    byte[] hash = MessageDigest.getInstance("SHA-256").digest(results);
    String digest = HexFormat.of().formatHex(hash);
    String expected = read("vectors/trace_result.json");
    boolean same =
        expected.contains('"' + digest + '"') && expected.contains("\"bytes\": " + results.length);
    if (!same) throw new AssertionError("trace differs: " + results.length + " bytes, " + digest);
    System.out.println("trace: " + results.length + " result bytes as expected");
    example();
  }
}
