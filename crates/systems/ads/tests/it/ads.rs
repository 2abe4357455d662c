//! The ad network, spoken to over plain sockets.

use std::net::SocketAddr;
use std::path::Path;

use ads::{AdsError, AdsOptions, LogFormat, Report, StoreAddress, Writes};
use serde_json::Value;
use server::ServerError;
use testkit::http::{get, raw, soon};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Options for a test: one app server and few ads.
fn options() -> AdsOptions {
    let mut options = AdsOptions::default();
    options.server.threads = 1;
    options.ads = 1_000;
    options.long_list = 500;
    options
}

/// The end of a network that is stopped as soon as it serves.
async fn stopped_at_once(options: AdsOptions) -> Result<Report, AdsError> {
    ads::serve(options, Box::new(|_| ()), Box::pin(std::future::ready(()))).await
}

/// A running network.
struct Network {
    address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    served: JoinHandle<Result<Report, AdsError>>,
}

impl Network {
    async fn start(options: AdsOptions) -> Self {
        let (shutdown, stop) = oneshot::channel();
        let (ready, address) = oneshot::channel();
        let ready = Box::new(move |address| ready.send(address).unwrap());
        let end = Box::pin(async { drop(stop.await) });
        let served = tokio::spawn(ads::serve(options, ready, end));
        Self { address: soon(address).await.unwrap(), shutdown, served }
    }

    async fn ad(&self, publisher: &str, user: &str) -> Value {
        let target =
            format!("/publishers/{publisher}/api/?user_id={user}&sub_id=3&country_code=us");
        let (status, body) = get(self.address, &target).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Status and headers' text of a request without a body, or with a form.
    async fn request(&self, method: &str, target: &str) -> (u16, String) {
        let form = if method == "POST" { "a=1" } else { "" };
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{form}",
            form.len()
        );
        let response = raw_lossy(self.address, &request).await;
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        (status, response.to_ascii_lowercase())
    }

    async fn metric(&self, name: &str) -> f64 {
        let (_, text) = get(self.address, "/metrics").await;
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    async fn stop(self) -> Report {
        self.shutdown.send(()).unwrap();
        soon(self.served).await.unwrap().unwrap()
    }
}

/// As [`raw`], for answers that are pictures.
async fn raw_lossy(address: SocketAddr, request: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    soon(stream.read_to_end(&mut response)).await.unwrap();
    String::from_utf8_lossy(&response).into_owned()
}

fn location(response: &str) -> &str {
    let line = response.lines().find(|line| line.starts_with("location: "));
    line.unwrap().trim_start_matches("location: ")
}

/// The events of an offer, in their order, as a user's browser would ask for them.
async fn convert(network: &Network, ad: &Value) -> Vec<u16> {
    let id = ad["offer_id"].as_str().unwrap();
    let advertiser = ad["advertiser"].as_str().unwrap();
    let impression = network.request("GET", &format!("/offers/{id}/impression.gif")).await;
    let redeem = network.request("POST", ad["url"].as_str().unwrap()).await;
    let claim = network.request("GET", location(&redeem.1)).await;
    assert_eq!(get(network.address, location(&claim.1)).await.0, 200);
    let target = format!("/advertisers/{advertiser}/convert.gif?offer_id={id}");
    let converted = network.request("GET", &target).await;
    [impression, redeem, claim, converted].map(|(status, _)| status).to_vec()
}

#[tokio::test]
async fn an_offer_goes_from_the_ad_to_the_conversion() {
    let network = Network::start(options()).await;
    let ad = network.ad("p1", "u1").await;
    let id = ad["offer_id"].as_str().unwrap();
    // What comes too early is refused, and nothing is counted.
    assert_eq!(network.request("POST", ad["url"].as_str().unwrap()).await.0, 409);
    assert_eq!(convert(&network, &ad).await, [200, 302, 302, 200]);
    // The same once more is answered and not counted again.
    assert_eq!(network.request("GET", &format!("/offers/{id}/impression.gif")).await.0, 200);
    for (name, wanted) in [
        ("ads_served_total", 1.0),
        ("ads_impressions_total", 1.0),
        ("ads_redeems_total", 1.0),
        ("ads_clicks_total", 1.0),
        ("ads_converts_total", 1.0),
        ("ads_repeated_total", 1.0),
        ("ads_refused_total", 1.0),
    ] {
        assert_eq!(network.metric(name).await, wanted, "{name}");
    }
    let report = network.stop().await;
    assert_eq!((report.served, report.events), (1, 4));
}

#[tokio::test]
async fn invalid_requests_are_explained() {
    let mut options = options();
    let text = "publisher,session_probability,impression,redeem,click,convert\nknown,1,1,1,1,1\n";
    let publishers = ads::Publishers::read(text, ads::AboveOne::Refuse).unwrap();
    options.publishers = Some(publishers.list);
    options.campaign_limit = 1;
    options.ads = 50;
    (options.short_list, options.long_list) = (50, 50);
    let network = Network::start(options).await;
    for (target, status) in [
        ("/publishers/unknown/api/", 404),
        ("/publishers/known/api/?country_code=USA", 400),
        ("/publishers/known/api/?sub_id=many", 400),
        ("/publishers/known/api/?user_id=a%20b", 400),
        ("/offers/1/impression.gif", 404),
        ("/offers/ffffffffffffffff/impression.gif", 404),
        ("/offers/%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9/impression.gif", 404),
        ("/advertisers/a0/convert.gif", 400),
        ("/advertisers/a7/convert.gif?offer_id=0000000000000001", 404),
        ("/nowhere", 404),
        ("/offers/0000000000000001/redeem/", 405),
        ("/offers/%FF/impression.gif", 400),
        // The only campaign may be shown once.
        ("/publishers/known/api/", 200),
        ("/publishers/known/api/", 204),
    ] {
        let (found, text) = network.request("GET", target).await;
        assert_eq!(found, status, "{target}");
        assert_eq!(text.contains(r#"{"error":{"code":"#), status >= 400, "{target}");
    }
    // A request with effects needs its own method; HEAD has no effects.
    for (method, target, allowed) in [
        ("HEAD", "/publishers/known/api/", "get"),
        ("POST", "/offers/0000000000000001/impression.gif", "get"),
        ("HEAD", "/offers/0000000000000001/claim/", "get"),
        ("HEAD", "/offers/0000000000000001/redeem/", "post"),
    ] {
        let (status, text) = network.request(method, target).await;
        assert_eq!(status, 405, "{method} {target}");
        assert!(text.contains(&format!("\nallow: {allowed}\r")), "{text}");
    }
    assert_eq!(network.metric("ads_no_ad_total").await, 1.0);
    assert_eq!(network.metric("ads_served_total").await, 1.0);
    let long = format!(
        "POST /offers/0000000000000001/redeem/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Length: 100000\r\n\r\n{}",
        "x".repeat(100_000)
    );
    assert!(raw(network.address, long.as_bytes()).await.starts_with("HTTP/1.1 413"));
    assert_eq!(network.metric("ads_refused_total").await, 17.0);
    // That is no request.
    assert!(raw(network.address, b"nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    network.stop().await;
}

#[tokio::test]
async fn records_survive_a_restart_however_they_are_written() {
    for writes in [Writes::Sync, Writes::Async] {
        let folder = tempfile::tempdir().unwrap();
        let stored = || {
            let mut options = options();
            options.store = Some(StoreAddress::File(folder.path().join("ads.sqlite")));
            options.writes = writes;
            options
        };
        let network = Network::start(stored()).await;
        let first = network.ad("p1", "u1").await;
        let second = network.ad("p1", "u2").await;
        assert_eq!(convert(&network, &first).await, [200, 302, 302, 200]);
        let id = second["offer_id"].as_str().unwrap();
        assert_eq!(network.request("GET", &format!("/offers/{id}/impression.gif")).await.0, 200);
        // Nobody else may write there meanwhile.
        assert!(matches!(stopped_at_once(stored()).await, Err(AdsError::Store { .. })));
        assert_eq!(network.stop().await.records_lost, 0);

        let network = Network::start(stored()).await;
        // Its impression is known, and so the next event is not too early.
        assert_eq!(network.request("POST", second["url"].as_str().unwrap()).await.0, 302);
        let third = network.ad("p1", "u3").await;
        let number =
            |ad: &Value| u64::from_str_radix(ad["offer_id"].as_str().unwrap(), 16).unwrap();
        assert!(number(&third) > number(&second), "{writes:?}");
        network.stop().await;
    }
}

async fn lines_of(path: &Path, format: LogFormat) -> Vec<String> {
    let mut options = options();
    options.access_log = Some(path.to_owned());
    options.log_format = format;
    let network = Network::start(options).await;
    let ad = network.ad("p1", "u-1").await;
    assert_eq!(convert(&network, &ad).await, [200, 302, 302, 200]);
    assert_eq!(network.request("GET", "/nowhere?q=%22x%22").await.0, 404);
    assert_eq!(network.request("HEAD", "/offers/1/claim/").await.0, 405);
    assert_eq!(get(network.address, "/healthz").await.0, 200);
    assert_eq!(network.stop().await.lines_dropped, 0);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn each_request_has_its_line_and_who_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("combined.log");
    let lines = lines_of(&path, LogFormat::Combined).await;
    // Ad, four events, the landing page, what is nowhere, and what was answered without a body.
    assert_eq!(lines.len(), 8, "{lines:#?}");
    assert!(lines[0].starts_with("127.0.0.1 - u-1 ["), "{}", lines[0]);
    assert!(lines[0].contains("+0000] \"GET /publishers/p1/api/?user_id=u-1&sub_id=3"));
    assert!(lines[1].ends_with(" HTTP/1.1\" 200 43 \"-\" \"test\""), "{}", lines[1]);
    assert!(lines[2].contains("\"POST /offers/") && lines[2].contains("\" 302 0 "));
    assert!(lines[6].starts_with("127.0.0.1 - - ["), "{}", lines[6]);
    assert!(lines[7].contains("\"HEAD /offers/1/claim/ HTTP/1.1\" 405 0 "));

    // The next server goes on at its end.
    lines_of(&path, LogFormat::Combined).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 16);

    let lines = lines_of(&folder.path().join("json.log"), LogFormat::Json).await;
    let lines: Vec<Value> = lines.iter().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 8);
    for line in &lines[..5] {
        if line["uri"].as_str().unwrap().contains("landing") {
            continue;
        }
        assert_eq!((&line["publisher"], &line["user"]), (&"p1".into(), &"u-1".into()), "{line}");
    }
    assert_eq!((&lines[6]["status"], &lines[6]["publisher"]), (&404.into(), &Value::Null));
    assert!(lines[0]["duration_s"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn requests_without_an_ad_are_logged_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("json.log");
    let mut options = options();
    options.access_log = Some(path.clone());
    options.log_format = LogFormat::Json;
    options.campaign_limit = 1;
    options.ads = 50;
    (options.short_list, options.long_list) = (50, 50);
    let network = Network::start(options).await;
    for (user, status) in [("u-1", 200), ("u-2", 204)] {
        let target = format!("/publishers/p1/api/?user_id={user}");
        assert_eq!(network.request("GET", &target).await.0, status);
    }
    network.stop().await;
    let text = std::fs::read_to_string(path).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["status"], &last["publisher"], &last["user"]),
        (&204.into(), &"p1".into(), &"u-2".into())
    );
}

#[tokio::test]
async fn app_servers_share_an_address_and_a_connection_too_many_is_dropped() {
    let mut options = options();
    options.server.threads = 2;
    let network = Network::start(options).await;
    for user in 0..20 {
        network.ad("p1", &user.to_string()).await;
    }
    assert_eq!(network.stop().await.served, 20);

    let mut options = self::options();
    options.connections_max = 1;
    let network = Network::start(options).await;
    let mut first = tokio::net::TcpStream::connect(network.address).await.unwrap();
    // It is served, and stays.
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    first.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    soon(first.read_exact(&mut answer)).await.unwrap();
    let mut second = tokio::net::TcpStream::connect(network.address).await.unwrap();
    let mut nothing = Vec::new();
    // Closed, or reset where the request was on its way.
    let ended = soon(second.read_to_end(&mut nothing)).await;
    assert!(ended.is_err() || nothing.is_empty());
    drop((first, second));
    network.stop().await;
}

#[tokio::test]
async fn options_and_addresses_that_cannot_be_are_refused() {
    let mut none = options();
    none.server.threads = 0;
    let ended = stopped_at_once(none).await;
    assert!(matches!(ended, Err(AdsError::Server(ServerError::Options(_)))));
    let network = Network::start(options()).await;
    let mut taken = options();
    taken.server.listen = network.address;
    let ended = stopped_at_once(taken).await;
    assert!(matches!(ended, Err(AdsError::Server(ServerError::Listen { .. }))));
    let mut nowhere = options();
    nowhere.access_log = Some("/nowhere/access.log".into());
    let ended = stopped_at_once(nowhere).await;
    assert!(matches!(ended, Err(AdsError::Log { .. })));
    network.stop().await;
}
