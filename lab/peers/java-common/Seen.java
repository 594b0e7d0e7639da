package lab;

import java.util.StringJoiner;

/** What a receiver saw of each of its senders. Belongs to one actor. */
public final class Seen {
    private final long[] counts, sums, reordered, next;

    public Seen(int senders) {
        counts = new long[senders];
        sums = new long[senders];
        reordered = new long[senders];
        next = new long[senders];
    }

    /** A message came. */
    public void accept(int sender, long number, int payload) {
        counts[sender]++;
        sums[sender] += Integer.toUnsignedLong(payload);
        if (number != next[sender]) reordered[sender]++;
        next[sender] = number + 1;
    }

    /** The entries of {@code "senders"} in an account, without brackets. */
    @Override
    public String toString() {
        StringJoiner entries = new StringJoiner(", ");
        for (int sender = 0; sender < counts.length; sender++) {
            entries.add(String.format("{\"count\": %d, \"sum\": \"%d\", \"reordered\": %d}",
                    counts[sender], sums[sender], reordered[sender]));
        }
        return entries.toString();
    }
}
