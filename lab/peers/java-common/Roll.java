package lab;

/** The roll of very many actors that report. Belongs to one actor. */
public final class Roll {
    private final int expected = Lab.order("MESSAGES");
    private long alive, sum, pairs, again;

    /** One more has reported: its number, how often it was told, and what. True for the last. */
    public boolean enter(long number, long told, int payload) {
        long unsigned = Integer.toUnsignedLong(payload);
        alive++;
        sum += unsigned;
        pairs += number * unsigned;
        if (told != 1) again++;
        return alive == expected;
    }

    /** The account. */
    public String account() {
        return String.format("{\"alive\": %d, \"sum\": \"%s\", \"pairs\": \"%s\", \"again\": %d}",
                alive, Long.toUnsignedString(sum), Long.toUnsignedString(pairs), again);
    }
}
