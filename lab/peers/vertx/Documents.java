import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServer;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;

/**
 * Vert.x as its manual has it: a verticle with a server, one instance for each processor. They
 * share a port that is free, which a negative number asks for. Vert.x sends no Date by itself.
 */
public final class Documents extends VerticleBase {
    private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");
    private static volatile int port;

    private CharSequence date;

    @Override
    public Future<HttpServer> start() {
        renewDate();
        vertx.setPeriodic(500, timer -> renewDate());
        return vertx.createHttpServer().requestHandler(request -> {
            var response = request.response().putHeader(HttpHeaders.DATE, date);
            if (!request.path().equals("/")) {
                response.setStatusCode(404).end();
                return;
            }
            response.putHeader(HttpHeaders.CONTENT_TYPE, JSON)
                .putHeader("Token", request.getHeader("Token"))
                .end("{\"id\": 1}");
        }).listen(-1, "127.0.0.1").onSuccess(server -> port = server.actualPort());
    }

    private void renewDate() {
        var now = ZonedDateTime.now(ZoneOffset.UTC);
        date = HttpHeaders.createOptimized(DateTimeFormatter.RFC_1123_DATE_TIME.format(now));
    }

    public static void main(String[] arguments) throws Exception {
        var instances = Runtime.getRuntime().availableProcessors();
        Vertx.vertx()
            .deployVerticle(Documents::new, new DeploymentOptions().setInstances(instances))
            .await();
        System.out.println("READY " + port);
        // The lab ends with this input.
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        Runtime.getRuntime().halt(0);
    }
}
