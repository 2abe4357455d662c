package bench;

import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import io.gatling.javaapi.http.HttpProtocolBuilder;
import java.time.Duration;

/** All four loads; which one, and how much of it, system properties say. */
public final class Load extends Simulation {
  private static final String KIND = System.getProperty("kind");
  private static final String URL = System.getProperty("url");
  private static final int USERS = Integer.getInteger("users");
  private static final int PER_SECOND = Integer.getInteger("per_second", 0);
  private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("seconds"));
  private static final String TEXT = "x".repeat(Integer.getInteger("bytes", 100));

  {
    HttpProtocolBuilder protocol = 
        http.baseUrl(URL).wsBaseUrl(URL).disableCaching().disableWarmUp();
    ChainBuilder get = exec(http("request").get("/hello"));
    ChainBuilder echo =
        exec(
            ws("send")
                .sendText(TEXT)
                .await(30)
                .on(ws.checkTextMessage("reply").check(bodyString().exists())));
    ChainBuilder open = exec(ws("connect").connect("/echo"));
    switch (KIND) {
      case "http" -> atOnce(scenario(KIND).during(TIME).on(get), protocol);
      case "echo" -> atOnce(scenario(KIND).exec(open).during(TIME).on(echo), protocol);
      case "idle" ->
          setUp(
              scenario(KIND)
                  .exec(open)
                  .pause(TIME)
                  .injectOpen(rampUsers(USERS).during(Math.max(1, USERS / PER_SECOND)))
                  .protocols(protocol))
              .maxDuration(TIME);
      case "stall" ->
          setUp(
              scenario(KIND)
                  .exec(http("request").get("/"))
                  .injectOpen(constantUsersPerSec(PER_SECOND).during(TIME))
                  .protocols(protocol.shareConnections()));
      default -> throw new IllegalArgumentException(KIND);
    }
  }

  private void atOnce(ScenarioBuilder scenario, HttpProtocolBuilder protocol) {
    setUp(scenario.injectOpen(atOnceUsers(USERS)).protocols(protocol));
  }
}
