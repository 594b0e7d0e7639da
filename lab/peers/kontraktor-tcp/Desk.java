import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import lab.Enquiry;
import lab.Lab;
import lab.Offer;
import lab.Seen;
import org.nustaq.kontraktor.Actor;
import org.nustaq.kontraktor.IPromise;
import org.nustaq.kontraktor.Promise;

/** The actor that takes note. Its methods are its messages; those without a promise have no answer. */
public class Desk extends Actor<Desk> {
    private Seen[] seen;

    /** Number and payload as one object. */
    public static final class Sum implements Serializable {
        final long number;
        final long payload;

        Sum(long number, long payload) {
            this.number = number;
            this.payload = payload;
        }
    }

    /** An offer whose fields can be set from outside its constructor, which those of a record cannot. */
    public static final class Quote implements Serializable {
        private final long sum;
        private final String name;
        private final List<String> tags;
        private final double weight;

        Quote(Offer offer) {
            sum = offer.sum();
            name = offer.name();
            tags = new ArrayList<>(offer.tags());
            weight = offer.weight();
        }

        Offer offer() {
            return new Offer(sum, name, tags, weight);
        }
    }

    public void begin() {
        seen = Seen.all();
    }

    public void note(long number, long payload) {
        seen[0].take(number, payload);
    }

    public void noteSum(Sum sum) {
        seen[0].take(sum.number, sum.payload);
    }

    public IPromise<Long> add(long number, long payload) {
        seen[0].take(number, payload);
        return new Promise<>(number + payload);
    }

    public IPromise<Long> addSum(Sum sum) {
        seen[0].take(sum.number, sum.payload);
        return new Promise<>(sum.number + sum.payload);
    }

    public IPromise<Quote> quote(int sender, long number, long payload) {
        seen[sender].take(number, payload);
        return new Promise<>(new Quote(new Enquiry(sender, number, payload).offer()));
    }

    public IPromise<Long> sync() {
        return new Promise<>(0L);
    }

    public IPromise<Long> account() {
        Lab.say(Seen.account(seen));
        return new Promise<>(0L);
    }
}
