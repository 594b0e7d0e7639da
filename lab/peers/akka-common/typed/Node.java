import java.util.concurrent.CompletableFuture;
import lab.Place;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;

/** An actor of a ring. */
final class Node extends AbstractBehavior<Node.Command> {
    interface Command {}

    record Next(ActorRef<Command> node) implements Command {}

    record Token(long hop, int value) implements Command {}

    record Get(ActorRef<Place> replyTo) implements Command {}

    private final Place place;
    private final CompletableFuture<Integer> ended;
    private ActorRef<Command> next;

    static Behavior<Command> create(Place place, CompletableFuture<Integer> ended) {
        return Behaviors.setup(context -> new Node(context, place, ended));
    }

    private Node(ActorContext<Command> context, Place place, CompletableFuture<Integer> ended) {
        super(context);
        this.place = place;
        this.ended = ended;
    }

    @Override
    public Receive<Command> createReceive() {
        return newReceiveBuilder()
                .onMessage(Token.class, this::onToken)
                .onMessage(Next.class, this::onNext)
                .onMessage(Get.class, this::onGet)
                .build();
    }

    private Behavior<Command> onToken(Token token) {
        int changed = place.pass(token.hop, token.value);
        if (place.isLast(token.hop + 1)) ended.complete(changed);
        else next.tell(new Token(token.hop + 1, changed));
        return this;
    }

    private Behavior<Command> onNext(Next next) {
        this.next = next.node;
        return this;
    }

    private Behavior<Command> onGet(Get get) {
        get.replyTo.tell(place);
        return this;
    }
}
