import lab.Tally;
import org.apache.pekko.actor.AbstractActor;

/** A counting actor. */
final class Counter extends AbstractActor {
    record Count(long amount, int sender, long number, int payload) {}

    record GetAndReset() {}

    private final Tally tally = new Tally();

    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(Count.class, it -> tally.count(it.amount, it.sender, it.number, it.payload))
                .match(GetAndReset.class, it -> getSender().tell(tally.getAndReset(), getSelf()))
                .build();
    }
}
