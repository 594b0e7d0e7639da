package lab;

/** The numbers that a sender draws: xorshift32. */
public final class Payloads {
    private int state;

    public Payloads(long seed, int sender) {
        state = (int) seed ^ (int) ((sender + 1) * 2654435761L);
        if (state == 0) {
            state = 1;
        }
    }

    public long next() {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return Integer.toUnsignedLong(state);
    }
}
