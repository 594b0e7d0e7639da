import lab.Asker;
import lab.Seen;
import org.nustaq.kontraktor.Actor;
import org.nustaq.kontraktor.IPromise;

/** An actor that answers each ask. */
public class Answerer extends Actor<Answerer> {
    private final Seen seen = new Seen(1);

    public IPromise<Long> answer(long number, int payload) {
        seen.accept(0, number, payload);
        return resolve(Asker.answer(number, payload));
    }

    public IPromise<Seen> seen() {
        return resolve(seen);
    }
}
