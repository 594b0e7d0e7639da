package lab;

/** A client with one ask at a time, each made from the answer before it. */
public final class Asker {
    private final Payloads payloads = new Payloads(Lab.order("SEED"), 0);
    private final int asks = Lab.order("MESSAGES");
    private long number;
    private int payload;
    private long answer, wrong, sum;

    /** Makes the next ask; false when there were as many as ordered. */
    public boolean hasNext() {
        if (number == asks) return false;
        payload = payloads.next() ^ (int) answer;
        return true;
    }

    /** The number of the ask. */
    public long number() {
        return number;
    }

    /** The payload of the ask. */
    public int payload() {
        return payload;
    }

    /** The answer that is due to an ask. */
    public static long answer(long number, int payload) {
        return number + Integer.toUnsignedLong(payload);
    }

    /** The answer to the ask came. */
    public void hold(long came) {
        if (came != answer(number, payload)) wrong++;
        sum += came;
        answer = came;
        number++;
    }

    /** The account, with what the actor saw. */
    public String account(Seen seen) {
        return String.format("{\"replies\": %d, \"wrong\": %d, \"sum\": \"%s\", \"senders\": [%s]}",
                number, wrong, Long.toUnsignedString(sum), seen);
    }
}
