package lab;

import java.util.StringJoiner;

/** The state of a counting actor: its total, and what it saw. Belongs to that actor. */
public final class Tally {
    private final Seen seen;
    private final int draws;
    private long total;
    private long worked;

    /** Zero, for the senders and the work that were ordered. */
    public Tally() {
        this(new Seen(Lab.order("SENDERS")), Lab.cell().equals("slow") ? Lab.order("WORK") : 0);
    }

    private Tally(Seen seen, int draws) {
        this.seen = seen;
        this.draws = draws;
    }

    /** A message came. */
    public void count(long amount, int sender, long number, int payload) {
        total += amount;
        seen.accept(sender, number, payload);
        if (draws > 0) work(payload);
    }

    private void work(int payload) {
        int x = payload;
        for (int draw = 0; draw < draws; draw++) x = Payloads.step(x);
        worked += Integer.toUnsignedLong(x);
    }

    /** What there was until now, for the one that asked; the total is 0 from here on. */
    public Tally getAndReset() {
        Tally answer = new Tally(seen, draws);
        answer.total = total;
        answer.worked = worked;
        total = 0;
        return answer;
    }

    /** The account of all counting actors together. */
    public static String account(Iterable<Tally> tallies) {
        long total = 0, worked = 0;
        StringJoiner senders = new StringJoiner(", ");
        for (Tally tally : tallies) {
            total += tally.total;
            worked += tally.worked;
            senders.add(tally.seen.toString());
        }
        return String.format("{\"total\": %d, \"worked\": \"%s\", \"senders\": [%s]}",
                total, Long.toUnsignedString(worked), senders);
    }
}
