//! Broadcasts: to many, and to those who do not read.

use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Client, Market, calm, frame, soon};

const JOIN: &str = r#"{"op":"join","game":"g1"}"#;

async fn predict(fan: &mut Client) {
    fan.ask(r#"{"op":"predict","pool":"p1","option":"home","amount":1}"#)
        .await;
}

#[tokio::test]
async fn everyone_gets_the_same_message_once() {
    let market = Market::start(calm()).await;
    let mut fans = Vec::new();
    // Several lots.
    for _ in 0..150 {
        let mut fan = market.connect().await;
        fan.ask(JOIN).await;
        fans.push(fan);
    }
    for total in 1..=3 {
        predict(&mut fans[0]).await;
        let mut stamps = Vec::new();
        for fan in &mut fans {
            // Whatever came before was taken: nothing comes twice.
            let news = fan.json().await;
            assert_eq!(
                (&news["total"], &news["seq"]),
                (&total.into(), &total.into())
            );
            stamps.push(news["sent_at_ms"].as_f64().unwrap());
        }
        assert!(
            stamps.windows(2).all(|pair| pair[0] == pair[1]),
            "stamped once"
        );
        // Some go, from all parts of the list; the others miss nothing.
        let mut number = 0;
        fans.retain(|_| {
            number += 1;
            number % 7 != 0
        });
    }
    let expected = [150.0, 129.0, 111.0];
    let reached: f64 = expected.iter().sum();
    let replies = 150.0 + 3.0;
    assert_eq!(
        market.metric("market_messages_sent_total").await,
        reached + replies
    );
}

/// A reader that pauses gets all replies and, of the distributions, the newest.
#[tokio::test]
async fn a_reader_that_catches_up_has_missed_only_old_distributions() {
    let mut options = calm();
    options.batch = Duration::from_millis(1);
    options.missed_max = u32::MAX;
    // Makes replies long: they fill whatever the kernel holds.
    options.games = 500;
    let market = Market::start(options).await;
    let mut slow = market.connect().await;
    slow.ask(JOIN).await;
    let mut fan = market.connect().await;
    fan.ask(JOIN).await;

    let (mut requests, mut predicted) = (0, 0);
    let fill = async {
        while market.metric("market_distributions_superseded_total").await < 5.0 {
            for id in requests..requests + 10 {
                let request = format!(r#"{{"op":"games","id":{id}}}"#);
                let bytes = frame(0x81, request.as_bytes());
                slow.socket.get_mut().write_all(&bytes).await.unwrap();
            }
            requests += 10;
            predict(&mut fan).await;
            predicted += 1;
        }
    };
    soon(fill).await;

    let (mut replies, mut seqs, mut total) = (0, Vec::new(), 0);
    while replies < requests || total < predicted {
        let Message::Text(text) = slow.message().await else {
            continue;
        };
        if let Some(reply) = text.strip_prefix(r#"{"re":"games","id":"#) {
            assert_eq!(reply.split(',').next().unwrap(), replies.to_string());
            replies += 1;
        } else {
            let news: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(news["type"], "distribution");
            seqs.push(news["seq"].as_u64().unwrap());
            total = news["total"].as_u64().unwrap();
        }
    }
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    let missed = seqs.last().unwrap() - seqs.len() as u64;
    let superseded = market.metric("market_distributions_superseded_total").await;
    assert_eq!(missed as f64, superseded);
    assert_eq!(market.metric("market_slow_disconnects_total").await, 0.0);
}
