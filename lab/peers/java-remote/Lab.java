package lab;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.ServerSocket;

/**
 * The lab's contract for the participants of remote in Java: orders, the two lines of a start,
 * accounts and the end. It does not belong to the measured systems.
 */
public final class Lab {
    /** Standard output is the lab's alone: what others print there goes to standard error. */
    private static final PrintStream OUT = System.out;

    static {
        System.setOut(System.err);
    }

    private Lab() {}

    /** A number that the lab has ordered. */
    public static long order(String name) {
        return Long.parseLong(System.getenv(name));
    }

    public static String cell() {
        return System.getenv("CELL");
    }

    /** The address of the server, or of the relay in front of it. */
    public static int port() {
        return Math.toIntExact(order("PORT"));
    }

    public static void say(String account) {
        OUT.println(account);
    }

    /** A client is ready; returns when the lab writes GO. */
    public static void readyAndWaitForGo() throws IOException {
        say("READY");
        var line = new StringBuilder();
        for (int next = System.in.read(); next != '\n' && next >= 0; next = System.in.read()) {
            line.append((char) next);
        }
        if (!line.toString().equals("GO")) {
            throw new IOException("no GO but \"" + line + "\"");
        }
    }

    /** A server is ready; returns never, and ends the program at SIGTERM or when its input ends. */
    public static void readyUntilTheInputEnds(int port) throws IOException {
        // Ends at once: what the system itself has to do at its end may take seconds.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
        say("READY " + port);
        System.in.transferTo(OutputStream.nullOutputStream());
        Runtime.getRuntime().halt(0);
    }

    /** For systems that do not tell which port they were given. */
    public static int freePort() throws IOException {
        try (var socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    /** Ends the program because of something that nobody can mend while it runs. */
    public static void fail(Throwable why) {
        why.printStackTrace();
        Runtime.getRuntime().halt(1);
    }
}
