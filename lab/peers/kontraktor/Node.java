import java.util.concurrent.CompletableFuture;
import lab.Place;
import org.nustaq.kontraktor.Actor;
import org.nustaq.kontraktor.IPromise;

/** An actor of a ring. */
public class Node extends Actor<Node> {
    private Place place;
    private Node next;
    private CompletableFuture<Integer> ended;

    public void begin(Place place, Node next, CompletableFuture<Integer> ended) {
        this.place = place;
        this.next = next;
        this.ended = ended;
    }

    public void token(long hop, int value) {
        int changed = place.pass(hop, value);
        if (place.isLast(hop + 1)) ended.complete(changed);
        else next.token(hop + 1, changed);
    }

    public IPromise<Place> place() {
        return resolve(place);
    }
}
