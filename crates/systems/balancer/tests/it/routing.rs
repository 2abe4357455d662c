//! Regions, sessions that stay on a backend, and weights that are learned, over sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use balancer::fleet::Locality;
use balancer::policy::Kind;
use balancer::{LearnOptions, Source};
use futures_util::StreamExt as _;
use stats::dist::Dist;
use targets::echo::EchoOptions;
use testkit::http::{get, raw, soon};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::support::{Act, Backend, Running, echo_until, websocket_echo, worker};

/// The body of an answer to a request with this cookie field, and the cookie that it sets.
async fn send(balancer: &Running, cookie: &str) -> (String, Option<String>) {
    let field = match cookie {
        "" => String::new(),
        cookie => format!("Cookie: {cookie}\r\n"),
    };
    let text = format!("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{field}\r\n");
    let answer = raw(balancer.address, text.as_bytes()).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut set = head.lines().filter_map(|line| line.strip_prefix("Set-Cookie: "));
    let first = set.next().map(str::to_owned);
    assert_eq!(set.next(), None);
    (body.to_owned(), first)
}

/// The cookie alone, which browsers send back.
fn pair(set: &str) -> &str {
    let (pair, attributes) = set.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax");
    let id = pair.strip_prefix("at=").unwrap();
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    pair
}

async fn sticky(backends: &[&Backend]) -> Running {
    let addresses: Vec<_> = backends.iter().map(|backend| backend.address).collect();
    Running::start(&addresses, |options| {
        options.sticky = Some("at".to_owned());
        options.health.eject_after = 1;
    })
    .await
}

#[tokio::test]
async fn a_session_stays_on_its_backend() {
    let one = Backend::start(Act::ok("one")).await;
    let two = Backend::start(Act::ok("two")).await;
    let balancer = sticky(&[&one, &two]).await;
    let (first, set) = send(&balancer, "").await;
    let set = set.unwrap();
    let cookie = pair(&set);
    for _ in 0..5 {
        assert_eq!(send(&balancer, &format!("a=b; {cookie}")).await, (first.clone(), None));
    }
    assert_eq!(balancer.metric("sticky_stayed_total").await, 5.0);
    // Others still take turns.
    let (second, set) = send(&balancer, "").await;
    assert_ne!((&second, pair(&set.unwrap())), (&first, cookie));
    // Whatever was not set here is as good as nothing.
    for wrong in ["at=0000000000000000", "at=../../etc", &format!("{cookie}; {cookie}")] {
        let (_, set) = send(&balancer, wrong).await;
        pair(&set.unwrap());
    }
    assert_eq!(balancer.metric("sticky_stayed_total").await, 5.0);
    assert_eq!(balancer.metric("sticky_moved_total").await, 1.0);
}

#[tokio::test]
async fn a_session_moves_when_its_backend_is_down() {
    let fails = Arc::new(AtomicBool::new(false));
    let scripted = Arc::clone(&fails);
    let one = Backend::scripted(move |_| match scripted.load(Ordering::Relaxed) {
        false => Act::ok("one"),
        true => Act::Answer(b"HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nno!".into()),
    })
    .await;
    let two = Backend::start(Act::ok("two")).await;
    let balancer = sticky(&[&one, &two]).await;
    let (body, set) = send(&balancer, "").await;
    let set = set.unwrap();
    assert_eq!(body, "one");
    fails.store(true, Ordering::Relaxed);
    // The failure itself moves nobody; it ejects the backend.
    assert_eq!(send(&balancer, pair(&set)).await, ("no!".to_owned(), None));
    let (body, moved) = send(&balancer, pair(&set)).await;
    let moved = moved.unwrap();
    assert_eq!(body, "two");
    assert_ne!(pair(&moved), pair(&set));
    assert_eq!(send(&balancer, pair(&moved)).await, ("two".to_owned(), None));
    assert_eq!(balancer.metric("sticky_moved_total").await, 1.0);
}

#[tokio::test]
async fn websockets_stay_too() {
    let echoes = [websocket_echo().await, websocket_echo().await];
    let balancer = Running::start(&echoes, |options| options.sticky = Some("at".to_owned())).await;
    let url = format!("ws://{}/echo", balancer.address);
    let mut cookie: Option<String> = None;
    for reconnects in 0..4 {
        let mut request = url.as_str().into_client_request().unwrap();
        if let Some(set) = &cookie {
            request.headers_mut().insert("cookie", pair(set).parse().unwrap());
        }
        let stream = balancer.connect().await;
        let (_, response) = soon(client_async(request, stream)).await.unwrap();
        let set = response.headers().get("set-cookie");
        assert_eq!(set.is_some(), reconnects == 0);
        cookie = cookie.or(set.map(|set| set.to_str().unwrap().to_owned()));
    }
    assert_eq!(balancer.metric("sticky_stayed_total").await, 3.0);
}

#[tokio::test]
async fn a_region_spills_over_at_its_load() {
    let own = Backend::scripted(|head| match head.starts_with("GET /wait") {
        true => Act::Wait,
        false => Act::ok("own"),
    })
    .await;
    let other = Backend::start(Act::ok("other")).await;
    let balancer = Running::start(&[own.address, other.address], |options| {
        let listed = [format!("http://{} region=us weight=2", own.address)];
        let others = [format!("http://{} region=asia", other.address)];
        options.backends = Source::Listed([listed, others].concat());
        options.locality = Some(Locality { region: "us".to_owned(), spill_at: 1.0 });
    })
    .await;
    let mut waiting = Vec::new();
    for in_flight in 0..4 {
        // Its weight is 2, so it takes two.
        let expected = if in_flight < 2 { "own" } else { "other" };
        if in_flight < 3 {
            assert_eq!(get(balancer.address, "/").await.1, expected);
        }
        let address = balancer.address;
        if in_flight < 2 {
            waiting.push(tokio::spawn(async move { get(address, "/wait").await }));
            balancer.until_metric("in_flight", f64::from(in_flight + 1)).await;
        }
    }
    assert_eq!(balancer.metric("requests_spilled_total").await, 1.0);
    let (_, states) = get(balancer.metrics, "/backends").await;
    assert!(states.contains(r#""region":"asia""#), "{states}");
}

#[tokio::test]
async fn a_region_without_backends_is_refused() {
    let mut options = balancer::BalancerOptions::new(Source::Listed(vec![
        "http://127.0.0.1:1 region=us".to_owned(),
    ]));
    options.locality = Some(Locality { region: "su".to_owned(), spill_at: f64::INFINITY });
    let served = balancer::serve(options, Box::new(|_| {}), Box::pin(std::future::pending()));
    let error = soon(served).await.unwrap_err().to_string();
    assert!(error.contains("no backend is in the region `su`") && error.ends_with("has us"));
}

#[tokio::test]
async fn weights_are_learned_from_reports() {
    let with_time =
        async |seconds| worker(move |options| options.service_time = Dist::Constant(seconds)).await;
    let fast = with_time(0.002).await;
    let slow = with_time(0.04).await;
    let balancer = Running::start(&[fast, slow], |options| {
        options.policy = Kind::WeightedRoundRobin;
        let mut learn = LearnOptions::default();
        learn.every = Duration::from_millis(10);
        learn.blackout = Duration::from_millis(50);
        options.learn = Some(learn);
    })
    .await;
    // As listed, both get the same; twenty times faster is what the first one is.
    let learned = async {
        loop {
            get(balancer.address, "/work").await;
            let (_, states) = get(balancer.metrics, "/backends").await;
            let states: serde_json::Value = serde_json::from_str(&states).unwrap();
            let weight = |at: usize| states["backends"][at]["weight"].as_f64().unwrap();
            if weight(0) > 3.0 * weight(1) {
                return weight(0) + weight(1);
            }
        }
    };
    let sum = soon(learned).await;
    assert!((sum - 2.0).abs() < 1e-9, "the mean stays that of the list: {sum}");
    assert!(balancer.metric("reports_total").await > 0.0);
}

/// A reconnect storm: the backend of many WebSockets ends with all of them, and is back before they are.
#[tokio::test]
async fn websockets_find_their_backend_after_its_restart() {
    const USERS: usize = 20;
    let serve = |listen: SocketAddr| async move {
        let mut options = EchoOptions::default();
        options.server.listen = listen;
        let (stop, stopped) = oneshot::channel::<()>();
        let (address, served) = echo_until(options, Box::pin(async { drop(stopped.await) })).await;
        (address, stop, served)
    };
    let (first, stop, served) = serve(SocketAddr::from(([127, 0, 0, 1], 0))).await;
    let second = websocket_echo().await;
    let balancer = Running::start(&[first, second], |options| {
        options.sticky = Some("at".to_owned());
    })
    .await;
    let connect = |cookie: Option<String>| {
        let url = format!("ws://{}/echo", balancer.address);
        let mut request = url.as_str().into_client_request().unwrap();
        if let Some(cookie) = cookie {
            let value = cookie.parse().unwrap();
            request.headers_mut().insert("cookie", value);
        }
        let stream = balancer.connect();
        async { soon(client_async(request, stream.await)).await.unwrap() }
    };
    let mut users = Vec::new();
    for _ in 0..USERS {
        let (socket, response) = connect(None).await;
        let set = response.headers()["set-cookie"].to_str().unwrap();
        users.push((Some(socket), pair(set).to_owned()));
    }
    // Half of them lose their connection, and close it.
    stop.send(()).unwrap();
    soon(served).await.unwrap().unwrap();
    soon(async {
        let mut lost = 0;
        while lost < USERS / 2 {
            for (socket, _) in &mut users {
                let Some(open) = socket else { continue };
                let ended = timeout(Duration::from_millis(20), open.next()).await;
                if ended.is_ok() {
                    *socket = None;
                    lost += 1;
                }
            }
        }
    })
    .await;
    balancer.until_metric("in_flight", USERS as f64 / 2.0).await;
    let (back, _stop, _served) = serve(first).await;
    assert_eq!(back, first);
    for (_, cookie) in &mut users {
        let (_, response) = connect(Some(cookie.clone())).await;
        assert!(response.headers().get("set-cookie").is_none());
    }
    assert_eq!(balancer.metric("sticky_stayed_total").await, USERS as f64);
    assert_eq!(balancer.metric("sticky_moved_total").await, 0.0);
}
