import lab.Asker;
import lab.Seen;
import org.apache.pekko.actor.AbstractActor;

/** An actor that answers each ask. */
final class Answerer extends AbstractActor {
    record Ask(long number, int payload) {}

    record Get() {}

    private final Seen seen = new Seen(1);

    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(Ask.class, this::onAsk)
                .match(Get.class, get -> getSender().tell(seen, getSelf()))
                .build();
    }

    private void onAsk(Ask ask) {
        seen.accept(0, ask.number, ask.payload);
        getSender().tell(Asker.answer(ask.number, ask.payload), getSelf());
    }
}
