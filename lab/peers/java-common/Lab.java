package lab;

import java.io.IOException;

/** The lab's contract for programs of the JVM: orders, READY, GO, the account, the end. */
public final class Lab {
    static {
        // The threads of actors that wait for messages would keep a program alive that has failed.
        Thread.setDefaultUncaughtExceptionHandler((thread, fault) -> {
            fault.printStackTrace();
            Runtime.getRuntime().halt(1);
        });
    }

    private Lab() {}

    /** An order of the lab. */
    public static int order(String name) {
        String value = System.getenv(name);
        if (value == null) throw new IllegalStateException("there is no order " + name);
        return Integer.parseUnsignedInt(value);
    }

    /** The cell of counter that was ordered. */
    public static String cell() {
        String cell = System.getenv("CELL");
        return cell == null ? "count" : cell;
    }

    /** Counting actors: one, unless the cell is of many. */
    public static int actors() {
        return System.getenv("ACTORS") == null ? 1 : order("ACTORS");
    }

    /** Prints one line at once. */
    public static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** A client or counter is ready; returns when the lab writes GO. */
    public static void readyAndGo() throws IOException {
        say("READY");
        StringBuilder line = new StringBuilder();
        for (int next = System.in.read(); next >= 0 && next != '\n'; next = System.in.read()) {
            line.append((char) next);
        }
        if (!line.toString().equals("GO")) throw new IOException("no GO but \"" + line + "\"");
    }

    /** A server is ready; from now on the program ends when its input does. */
    public static void readyUntilInputEnds(int port) {
        Thread watcher = new Thread(() -> {
            try {
                awaitEndOfInput();
                Runtime.getRuntime().halt(0);
            } catch (IOException unreadable) {
                Runtime.getRuntime().halt(1);
            }
        });
        watcher.setDaemon(true);
        watcher.start();
        say("READY " + port);
    }

    /**
     * Prints the account of a counter and ends the program. Where the lab reads the memory of the
     * program, it lives on, with all that it has, until its input ends.
     */
    public static void finish(String account) throws IOException {
        say(account);
        String cell = cell();
        if (cell.equals("slow") || cell.equals("spawn")) awaitEndOfInput();
        // The threads of actors that wait for messages would keep the program alive.
        Runtime.getRuntime().halt(0);
    }

    private static void awaitEndOfInput() throws IOException {
        byte[] rest = new byte[64];
        while (System.in.read(rest) >= 0) {}
    }
}
