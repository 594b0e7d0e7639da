package lab;

import java.util.List;

/** The answer to an enquiry. */
public record Offer(long sum, String name, List<String> tags, double weight) {}
