import java.util.concurrent.CompletableFuture;
import lab.Place;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;

/** An actor of a ring. */
final class Node extends AbstractActor {
    record Next(ActorRef node) {}

    record Token(long hop, int value) {}

    record Get() {}

    private final Place place;
    private final CompletableFuture<Integer> ended;
    private ActorRef next;

    Node(Place place, CompletableFuture<Integer> ended) {
        this.place = place;
        this.ended = ended;
    }

    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(Token.class, this::onToken)
                .match(Next.class, next -> this.next = next.node)
                .match(Get.class, get -> getSender().tell(place, getSelf()))
                .build();
    }

    private void onToken(Token token) {
        int changed = place.pass(token.hop, token.value);
        if (place.isLast(token.hop + 1)) ended.complete(changed);
        else next.tell(new Token(token.hop + 1, changed), getSelf());
    }
}
