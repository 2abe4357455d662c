//! Relays: users near them, the market behind a line that can be cut.

use std::net::SocketAddr;
use std::time::Duration;

use ::market::{MarketOptions, MarketPart};
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::http::{get, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::support::{Fan, JOIN, Market, PREDICT, calm};

/// A relay in front of `upstream` that waits half a second.
async fn relay(upstream: SocketAddr) -> Market {
    let mut options: MarketOptions = calm();
    options.part = MarketPart::Relay;
    options.upstream = Some(upstream.to_string());
    options.backing.wait = Duration::from_millis(500);
    let relay = Market::start(options).await;
    until_ready(&relay).await;
    // All games are watched before anything is published.
    soon(async {
        while relay.metric("market_relay_resumed_total").await < 4.0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    relay
}

async fn until_ready(relay: &Market) {
    soon(async {
        while get(relay.address, "/healthz").await.0 != 200 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// A line to `to`; while the switch is on, nothing passes, in silence.
async fn line(to: SocketAddr) -> (SocketAddr, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (switch, cut) = watch::channel(false);
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let cut = cut.clone();
            tokio::spawn(async move {
                let far = TcpStream::connect(to).await.unwrap();
                let near = near.into_split();
                let far = far.into_split();
                tokio::select! {
                    () = pass(near.0, far.1, cut.clone()) => {}
                    () = pass(far.0, near.1, cut) => {}
                }
            });
        }
    });
    (address, switch)
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut cut: watch::Receiver<bool>,
) {
    let mut bytes = vec![0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        if cut.wait_for(|cut| !cut).await.is_err() || to.write_all(&bytes[..length]).await.is_err()
        {
            return;
        }
    }
}

#[tokio::test]
async fn a_relay_answers_as_the_market_does() {
    let market = Market::start(calm()).await;
    let relay = relay(market.address).await;
    let mut ann = relay.connect_to("/v1/stream?user=ann").await;
    let mut bob = relay.connect().await;
    let joined = json!({"re": "join", "game": "g1", "balance": 100_000});
    assert_eq!(ann.request(JOIN).await, joined);
    assert_eq!(bob.request(JOIN).await, joined);
    let predict = r#"{"op":"predict","pool":"p1","option":"home","amount":30,"id":[7]}"#;
    let accepted =
        json!({"re": "predict", "id": [7], "accepted": true, "pool": "p1", "balance": 99_970});
    assert_eq!(ann.request(predict).await, accepted);
    for fan in [&mut ann, &mut bob] {
        assert_eq!(fan.news("distribution").await["total"], 30);
    }
    // The game that a user is in is known from one request to the next.
    let left = json!({"re": "leave", "game": "g1"});
    assert_eq!(bob.request(r#"{"op":"leave"}"#).await, left);
    let left = json!({"re": "leave", "game": null});
    assert_eq!(bob.request(r#"{"op":"leave"}"#).await, left);
    // Mistakes are answered, and counted by the relay.
    assert_eq!(bob.request("{").await["error"]["code"], "malformed");
    assert_eq!(relay.metric("market_bad_requests_total").await, 1.0);
    assert_eq!(market.metric("market_bad_requests_total").await, 0.0);

    // A named user is the same everywhere, and one without a name goes with the connection.
    let mut direct = market.connect_to("/v1/stream?user=ann").await;
    assert_eq!(direct.request(JOIN).await["balance"], 99_970);
    assert_eq!(market.metric("market_money_expected").await, 200_000.0);
    drop(bob);
    soon(async {
        while market.metric("market_money_expected").await != 100_000.0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_cut_line_fails_requests_and_nothing_is_done_twice() {
    let market = Market::start(calm()).await;
    let (address, cut) = line(market.address).await;
    let relay = relay(address).await;
    let mut fan = relay.connect_to("/v1/stream?user=ann").await;
    fan.request(JOIN).await;
    assert_eq!(fan.request(PREDICT).await["accepted"], true);
    assert_eq!(fan.news("distribution").await["total"], 1);

    cut.send(true).unwrap();
    let mut unanswered = 0;
    // The first waits; once the silence is noticed, others fail at once.
    for id in 0..3 {
        let request = PREDICT.replace('}', &format!(",\"id\":{id}}}"));
        let reply = soon(fan.request(&request)).await;
        assert_eq!((&reply["re"], &reply["id"]), (&json!("predict"), &json!(id)));
        assert_eq!(reply["error"]["code"], "unavailable", "{reply}");
        unanswered += 1;
    }
    soon(async {
        while get(relay.address, "/healthz").await.0 == 200 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    cut.send(false).unwrap();
    until_ready(&relay).await;

    // Each answer is that of its own request, and the subscription is there again.
    soon(async {
        while relay.metric("market_relay_resumed_total").await < 8.0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let mut total = 0;
    let answered = settled(&mut fan, &mut total).await;
    let balance = reply_to(&mut fan, JOIN, &mut total).await["balance"].as_u64();
    let staked = 100_000 - balance.unwrap();
    // What was pushed last may have come before the answers, or comes yet.
    while total != staked {
        total = fan.news("distribution").await["total"].as_u64().unwrap();
    }
    assert!(total >= answered, "{total} of {answered}");
    assert!(total <= answered + unanswered, "{total} of {answered} and {unanswered}");
}

/// Predicts until it is answered; how many predictions were accepted in all.
async fn settled<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    fan: &mut Client<S>,
    total: &mut u64,
) -> u64 {
    loop {
        let reply = reply_to(fan, PREDICT, total).await;
        if reply["accepted"] == true {
            return 2;
        }
        assert_eq!(reply["error"]["code"], "unavailable", "{reply}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The reply to a request; `total` becomes that of the last distribution that came before it.
async fn reply_to<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    fan: &mut Client<S>,
    request: &str,
    total: &mut u64,
) -> Value {
    fan.send(request).await;
    loop {
        let message = fan.json().await;
        if message.get("re").is_some() {
            return message;
        }
        if message["type"] == "distribution" {
            *total = message["total"].as_u64().unwrap();
        }
    }
}

#[tokio::test]
async fn only_relays_may_use_their_listener() {
    let market = Market::start(calm()).await;
    let mut stranger = market.connect_to("/v1/relay").await;
    stranger.send(JOIN).await;
    let closed = stranger.message().await;
    assert!(closed.is_close(), "{closed:?}");
}

#[tokio::test]
async fn an_account_is_closed_though_the_line_was_cut_when_its_user_left() {
    let market = Market::start(calm()).await;
    let (address, cut) = line(market.address).await;
    let relay = relay(address).await;
    let mut fan = relay.connect().await;
    fan.request(JOIN).await;
    assert_eq!(market.metric("market_money_expected").await, 100_000.0);
    cut.send(true).unwrap();
    soon(async {
        while get(relay.address, "/healthz").await.0 == 200 {
            sleep(Duration::from_millis(10)).await;
        }
        drop(fan);
        while relay.metric("market_connections").await > 0.0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    cut.send(false).unwrap();
    soon(async {
        while market.metric("market_money_expected").await != 0.0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}
