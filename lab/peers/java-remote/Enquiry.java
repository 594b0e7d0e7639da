package lab;

import java.util.List;

/** What a caller asks. */
public record Enquiry(int sender, long number, long payload) {
    private static final String[] SIDES = {"north", "east", "south", "west"};

    /** The answer that is due. */
    public Offer offer() {
        var tags = List.of(payload % 2 == 0 ? "even" : "odd", SIDES[(int) (payload >> 30)]);
        return new Offer(number + payload, "caller " + sender, tags, payload / 4.0);
    }
}
