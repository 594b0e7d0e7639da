import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import lab.Payloads;

/** Requests of a connection and their replies: tokens, or the same words again and again. */
final class Tokens {
    private static final boolean FIXED = "fixed".equals(System.getenv("PAYLOAD"));
    private static final int PING = word("Ping"), PONG = word("Pong");

    private final Payloads payloads;

    Tokens(Payloads payloads) {
        this.payloads = payloads;
    }

    /** The next request. */
    int next() {
        return FIXED ? PING : payloads.next();
    }

    /** The reply that is due to a request. */
    static int reply(int request) {
        return FIXED ? PONG : ~request;
    }

    private static int word(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII))
                .order(ByteOrder.LITTLE_ENDIAN).getInt();
    }
}
