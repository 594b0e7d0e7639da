package lab;

import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

/** What a client has been answered, by whichever threads. */
public final class Replies {
    private final LongAdder count = new LongAdder();
    private final LongAdder wrong = new LongAdder();
    private final LongAdder sum = new LongAdder();

    public void hold(long answer, long due) {
        hold(answer, answer == due);
    }

    public void hold(long answer, boolean right) {
        count.increment();
        sum.add(answer);
        if (!right) {
            wrong.increment();
        }
    }

    public String account() {
        return "{\"replies\": %s, \"wrong\": %s, \"sum\": \"%s\"}".formatted(count, wrong, sum);
    }

    /** The account with the times of round trips, in nanoseconds. */
    public String account(long[] times) {
        Arrays.sort(times);
        return "{\"replies\": %s, \"wrong\": %s, \"sum\": \"%s\", \"rtt_us\": ".formatted(count, wrong, sum)
            + "{\"p50\": %s, \"p90\": %s, \"p99\": %s, \"max\": %s}}"
                .formatted(at(times, 0.5), at(times, 0.9), at(times, 0.99), at(times, 1));
    }

    private static double at(long[] sorted, double share) {
        return sorted[Math.min((int) (share * sorted.length), sorted.length - 1)] / 1e3;
    }
}
