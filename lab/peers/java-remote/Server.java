package lab;

import java.util.concurrent.CompletionStage;

/** What a client can ask of its server, by whatever the measured system has for it. */
public interface Server {
    /** A message that has no answer. */
    void tell(long number, long payload);

    /**
     * Is answered behind all tells before it, so that only so many of them wait; null where the
     * system holds back a sender for whom it has no room.
     */
    default CompletionStage<?> sync() {
        return null;
    }

    /** All tells, for a system whose senders should run on a thread of its own. */
    default void tellAll(long messages, Payloads drawn, boolean paced) {
        var pace = new Pace(this);
        for (long number = 0; number < messages; number++) {
            if (paced) {
                pace.step(number);
            }
            tell(number, drawn.next());
        }
    }

    /** Asks that may be in flight, if fewer than what is ordered. */
    default int windowMax() {
        return Integer.MAX_VALUE;
    }

    CompletionStage<Long> ask(long number, long payload);

    CompletionStage<Offer> quote(Enquiry enquiry);

    /** Has the server print its account, behind all messages. */
    CompletionStage<?> account();
}
