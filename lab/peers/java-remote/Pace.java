package lab;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletionStage;

/** Holds tells back where the system would drop or hoard them: an answer is awaited each so many. */
final class Pace {
    /** At most 16,384 tells wait, as asks do. */
    private static final int PART = 2_048;
    private static final int PARTS = 8;

    private final Server server;
    private final Queue<CompletionStage<?>> parts = new ArrayDeque<>();

    Pace(Server server) {
        this.server = server;
    }

    void step(long number) {
        if (number % PART != 0) {
            return;
        }
        var answer = server.sync();
        if (answer != null) {
            parts.add(answer);
        }
        if (parts.size() == PARTS) {
            parts.remove().toCompletableFuture().join();
        }
    }
}
