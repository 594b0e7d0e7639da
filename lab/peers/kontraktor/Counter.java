import lab.Tally;
import org.nustaq.kontraktor.Actor;
import org.nustaq.kontraktor.IPromise;

/** A counting actor: its public methods are its messages. */
public class Counter extends Actor<Counter> {
    private final Tally tally = new Tally();

    public void count(long amount, int sender, long number, int payload) {
        tally.count(amount, sender, number, payload);
    }

    public IPromise<Tally> getAndReset() {
        return resolve(tally.getAndReset());
    }
}
