import java.nio.file.Path;
import org.eclipse.jetty.ee8.servlet.ServletContextHandler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jruby.rack.RackServlet;
import org.jruby.rack.RackServletContextListener;

/**
 * Serves a Rack application with embedded Jetty: {@code Serve FOLDER THREADS}, where the folder has
 * a config.ru. One JRuby runtime is shared by all threads, as jruby-rack has it by default.
 */
public final class Serve {
    /** The selector, which also accepts, has a thread of the pool and never runs a servlet. */
    private static final int SELECTORS = 1;

    public static void main(String[] arguments) throws Exception {
        var folder = Path.of(arguments[0]).toRealPath();
        var threads = Integer.parseInt(arguments[1]);

        var pool = new QueuedThreadPool(SELECTORS + threads, SELECTORS + threads);
        pool.setReservedThreads(0);
        var server = new Server(pool);

        // The application sends a Date of its own.
        var configuration = new HttpConfiguration();
        configuration.setSendDateHeader(false);
        var http = new HttpConnectionFactory(configuration);
        var connector = new ServerConnector(server, 0, SELECTORS, http);
        connector.setHost("127.0.0.1");
        connector.setPort(0);
        server.addConnector(connector);

        var context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
        context.setContextPath("/");
        context.setBaseResourceAsPath(folder);
        // The folder is as it lies in the repository, without the WEB-INF of a packed application.
        context.setInitParameter("jruby.rack.layout_class", "FileSystemLayout");
        context.setInitParameter("app.root", folder.toString());
        // A fault in config.ru ends the program instead of answering every request with it.
        context.setInitParameter("jruby.rack.error", "false");
        context.addEventListener(new RackServletContextListener());
        context.addServlet(RackServlet.class, "/");
        server.setHandler(context);
        server.start();
        System.out.println("READY " + connector.getLocalPort());
        // The lab ends with this input.
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        Runtime.getRuntime().halt(0);
    }
}
