import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.sparkproject.jetty.server.Server;
import org.sparkproject.jetty.server.ServerConnector;
import org.sparkproject.jetty.servlet.ServletContextHandler;
import org.sparkproject.jetty.servlet.ServletHolder;

/**
 * Iceberg's own REST catalogue for tests, over a file of SQLite. In front of it is what real ones have and it has not: clients that
 * are let in, a warehouse, a prefix of its paths; and, where the file "lost" says so, commits that are done and answered with an error. Where the file "ended" is, tokens that were
 * given before have ended.
 *
 * <p>Arguments: PORT FOLDER WAREHOUSE PREFIX CLIENT SECRET TOKEN GUEST.
 */
public class RestCatalog {
    private static final String FORM = "/v1/oauth/tokens";

    public static void main(String[] given) throws Exception {
        Path folder = Path.of(given[1]);
        JdbcCatalog catalog = new JdbcCatalog();
        catalog.setConf(new Configuration());
        catalog.initialize("server", Map.of(
            "uri", "jdbc:sqlite:" + folder.resolve("catalogue.db"),
            "warehouse", "file://" + folder.resolve("warehouse"),
            "jdbc.schema-version", "V1"));
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new Front(new RESTCatalogAdapter(catalog), folder, given)), "/*");
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(given[0]));
        server.addConnector(connector);
        server.setHandler(context);
        server.start();
        server.join();
    }

    private static class Front extends RESTCatalogServlet {
        private final Path lost;
        private final Path ended;
        private final String[] given;

        Front(RESTCatalogAdapter adapter, Path folder, String[] given) {
            super(adapter);
            this.lost = folder.resolve("lost");
            this.ended = folder.resolve("ended");
            this.given = given;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
            String path = request.getRequestURI();
            if (path.equals(FORM)) {
                boolean known = given[4].equals(request.getParameter("client_id")) && given[5].equals(plain(request.getParameter("client_secret")));
                if (known) {
                    say(response, 200, "{\"access_token\":\"" + given[6] + Files.exists(ended) + "\",\"token_type\":\"bearer\",\"expires_in\":3600,"
                        + "\"issued_token_type\":\"urn:ietf:params:oauth:token-type:access_token\"}");
                } else {
                    say(response, 401, "{\"error\":\"invalid_client\",\"error_description\":\"who is that\"}");
                }
                return;
            }
            if (!path.startsWith("/v1/")) {
                response.sendError(404);
                return;
            }
            String login = plain(request.getHeader("Authorization"));
            if (login != null && login.equals("Bearer " + given[7])) {
                fail(response, 403, "ForbiddenException", "guests see nothing");
            } else if (login == null || !(login.equals("Bearer " + given[6]) || login.equals("Bearer " + given[6] + Files.exists(ended)))) {
                fail(response, 401, "NotAuthorizedException", "nobody is let in without a token");
            } else if (path.equals("/v1/config")) {
                if (given[2].equals(request.getParameter("warehouse"))) {
                    say(response, 200, "{\"defaults\":{},\"overrides\":{\"prefix\":\"" + given[3] + "\"}}");
                } else {
                    fail(response, 404, "NotFoundException", "Unable to find warehouse " + request.getParameter("warehouse"));
                }
            } else if (!path.startsWith("/v1/" + given[3] + "/")) {
                fail(response, 404, "NotFoundException", "there is nothing at " + path);
            } else {
                String uri = "/v1/" + path.substring(("/v1/" + given[3] + "/").length());
                HttpServletRequest stripped = new HttpServletRequestWrapper(request) {
                    @Override
                    public String getRequestURI() {
                        return uri;
                    }
                };
                if (request.getMethod().equals("POST") && uri.contains("/tables/") && !uri.endsWith("/metrics") && Files.exists(lost)) {
                    int status = Integer.parseInt(Files.readString(lost).strip());
                    Files.delete(lost);
                    super.service(stripped, new Silent(response));
                    fail(response, status, "CommitFailedException", "the answer is lost");
                } else {
                    super.service(stripped, response);
                }
            }
        }

        /** Connectors take references to secrets, which nobody resolves in tests of connectors alone. */
        private static String plain(String secret) {
            return secret == null ? null : secret.replaceAll("\\$\\{env:(\\w+)}", "$1");
        }

        private static void fail(HttpServletResponse response, int status, String type, String message) throws IOException {
            say(response, status, "{\"error\":{\"message\":\"" + message + "\",\"type\":\"" + type + "\",\"code\":" + status + "}}");
        }

        private static void say(HttpServletResponse response, int status, String body) throws IOException {
            response.setStatus(status);
            response.setContentType("application/json");
            response.getWriter().write(body);
        }
    }

    /** Keeps what it is told to itself. */
    private static class Silent extends HttpServletResponseWrapper {
        Silent(HttpServletResponse response) {
            super(response);
        }

        @Override
        public PrintWriter getWriter() {
            return new PrintWriter(Writer.nullWriter());
        }

        @Override
        public void setStatus(int status) {}

        @Override
        public void setHeader(String name, String value) {}
    }
}
