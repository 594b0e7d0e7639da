package lab;

import java.util.Arrays;
import java.util.stream.Collectors;

/** What a receiver saw of one sender. One thread at a time takes note. */
public final class Seen {
    private long count;
    private long sum;
    private long reordered;
    private long next;

    public void take(long number, long payload) {
        count++;
        sum += payload;
        if (number != next) {
            reordered++;
        }
        next = number + 1;
    }

    /** One for each of the senders that were ordered, or a single one. */
    public static Seen[] all() {
        var callers = Lab.cell().startsWith("callers");
        var all = new Seen[callers ? (int) Lab.order("SENDERS") : 1];
        Arrays.setAll(all, at -> new Seen());
        return all;
    }

    /** The account of a server. */
    public static String account(Seen[] all) {
        return Arrays.stream(all)
            .map(one -> "{\"count\": %d, \"sum\": \"%d\", \"reordered\": %d}"
                .formatted(one.count, one.sum, one.reordered))
            .collect(Collectors.joining(", ", "{\"senders\": [", "]}"));
    }
}
