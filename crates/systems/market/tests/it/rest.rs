//! The REST reads and the operators' pages.

use serde_json::{Value, json};
use testkit::http::get;

use crate::support::{Fan, Market, calm};

#[tokio::test]
async fn reads_show_what_the_stream_shows() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    fan.request(r#"{"op":"predict","pool":"p2","option":"none","amount":4}"#).await;
    let read = async |target: &str| {
        let (status, body) = get(market.address, target).await;
        (status, serde_json::from_str::<Value>(&body).unwrap())
    };
    let (status, games) = read("/v1/games").await;
    assert_eq!(status, 200);
    assert_eq!(games["games"], fan.request(r#"{"op":"games"}"#).await["games"]);
    assert_eq!(read("/v1/games/g2").await, (200, games["games"][1].clone()));
    let (_, pools) = read("/v1/games/g2/pools").await;
    assert_eq!(pools["pools"], fan.request(r#"{"op":"pools","game":"g2"}"#).await["pools"]);
    assert_eq!(pools["pools"][0]["distribution"], json!({"home": 0, "away": 0, "none": 4}));
    assert_eq!(read("/v1/pools/p2").await, (200, pools["pools"][0].clone()));
    for (target, code) in [
        ("/v1/games/g9", "unknown_game"),
        ("/v1/games/nine", "unknown_game"),
        ("/v1/games/g9/pools", "unknown_game"),
        ("/v1/pools/p99", "unknown_pool"),
        ("/v1/pools/p", "unknown_pool"),
        ("/v2", "unknown_path"),
    ] {
        let (status, problem) = read(target).await;
        assert_eq!((status, &problem["error"]["code"]), (404, &json!(code)), "{target}");
    }
}

#[tokio::test]
async fn operators_pages() {
    let market = Market::start(calm()).await;
    assert_eq!(get(market.address, "/hello").await, (200, "ok\n".to_owned()));
    assert_eq!(get(market.address, "/healthz").await, (200, "ready\n".to_owned()));
    let _fan = market.connect().await;
    assert_eq!(market.metric("market_connections").await, 1.0);
    assert!(market.metric("process_resident_memory_bytes").await > 1e6);
}
