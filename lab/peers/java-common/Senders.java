package lab;

import java.util.ArrayList;
import java.util.List;

/** The senders that were ordered, with the numbers and payloads of their messages. */
public final class Senders {
    private Senders() {}

    /** How a message gets to the counting actor with the number {@code actor}. */
    public interface Send {
        void send(int actor, int sender, long number, int payload) throws Exception;
    }

    /** Runs each sender in a thread of its own and returns when all messages are sent. */
    public static void run(Send send) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int at = 0; at < Lab.order("SENDERS"); at++) {
            int sender = at;
            Thread thread = new Thread(() -> run(sender, send));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
    }

    /** Sends all messages of one sender. */
    public static void run(int sender, Send send) {
        int actors = Lab.actors(), each = Lab.order("MESSAGES") / Lab.order("SENDERS");
        Payloads payloads = new Payloads(Lab.order("SEED"), sender);
        long[] numbers = new long[actors];
        try {
            for (int message = 0; message < each; message++) {
                int payload = payloads.next();
                int actor = actors == 1 ? 0 : Integer.remainderUnsigned(payload, actors);
                send.send(actor, sender, numbers[actor]++, payload);
            }
        } catch (Exception refused) {
            // The lab sees the missing messages; the reason is for the reader of its report.
            refused.printStackTrace();
        }
    }
}
