package bench;

import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import java.time.Duration;

/** examples/incident.yaml for Gatling. */
public final class Incident extends Simulation {
  private static final Duration THINK = Duration.ofMillis(500);
  private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("seconds"));

  {
    ScenarioBuilder buyer =
        scenario("buyer")
            .exec(http("browse").get("/browse").check(status().is(200)))
            .pause(THINK)
            .exec(http("search").get("/search?q=tea").check(status().is(200)))
            .pause(THINK)
            .exec(
                http("checkout")
                    .post("/checkout")
                    .body(StringBody("{\"item\":\"tea\"}"))
                    .asJson()
                    .check(status().is(200)));
    setUp(
            buyer.injectOpen(
                constantUsersPerSec(Integer.getInteger("rate")).during(TIME).randomized()))
        .exponentialPauses()
        .protocols(http.baseUrl(System.getProperty("url")).disableWarmUp())
        .assertions(
            global().failedRequests().percent().lt(1.0),
            details("search").responseTime().percentile(95.0).lt(100),
            details("checkout").responseTime().percentile(95.0).lt(200));
  }
}
