package lab;

/** The numbers that a sender draws: xorshift32. */
public final class Payloads {
    private int state;

    public Payloads(int seed, int sender) {
        // 2,654,435,761, in 32 bits.
        int x = seed ^ (sender + 1) * 0x9E3779B1;
        state = x == 0 ? 1 : x;
    }

    public int next() {
        state = step(state);
        return state;
    }

    /** One draw of the generator. */
    public static int step(int x) {
        x ^= x << 13;
        x ^= x >>> 17;
        return x ^ x << 5;
    }
}
