package lab;

import java.util.ArrayList;
import java.util.List;

/** One actor's place in a ring, without the way to the next one. Belongs to that actor. */
public final class Place {
    private final Seen seen = new Seen(1);
    private final int actors = Lab.order("ACTORS");
    private final int hops = Lab.order("MESSAGES");
    private final int key;

    public Place(int actor) {
        key = new Payloads(Lab.order("SEED"), actor).next();
    }

    /** All places of the ring that was ordered. */
    public static List<Place> all() {
        List<Place> places = new ArrayList<>();
        for (int actor = 0; actor < Lab.order("ACTORS"); actor++) places.add(new Place(actor));
        return places;
    }

    /** A value came by with a hop: the value for the next one. */
    public int pass(long hop, int value) {
        seen.accept(0, hop / actors, value);
        return Payloads.step(value ^ key);
    }

    /** Whether nobody is told of {@code hop} any more. */
    public boolean isLast(long hop) {
        return hop == hops;
    }

    /** The account of the ring. */
    public static String account(int value, Iterable<Place> places) {
        List<String> entries = new ArrayList<>();
        for (Place place : places) entries.add(place.seen.toString());
        return String.format("{\"value\": %s, \"senders\": [%s]}",
                Integer.toUnsignedString(value), String.join(", ", entries));
    }
}
