//! Broadcasts: to many, and to those who do not read.

use crate::support::{
    Fan, JOIN, Market, PREDICT, calm, fall_behind_and_catch_up, for_slow_readers,
};

#[tokio::test]
async fn everyone_gets_the_same_message_once() {
    let market = Market::start(calm()).await;
    let mut fans = Vec::new();
    // Several lots.
    for _ in 0..150 {
        let mut fan = market.connect().await;
        fan.request(JOIN).await;
        fans.push(fan);
    }
    for total in 1..=3 {
        fans[0].request(PREDICT).await;
        let mut stamps = Vec::new();
        for fan in &mut fans {
            // Whatever came before was taken: nothing comes twice.
            let news = fan.json().await;
            assert_eq!((&news["total"], &news["seq"]), (&total.into(), &total.into()));
            stamps.push(news["sent_at_ms"].as_f64().unwrap());
        }
        assert!(stamps.windows(2).all(|pair| pair[0] == pair[1]), "stamped once");
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
    assert_eq!(market.metric("market_messages_sent_total").await, reached + replies);
}

/// A reader that pauses gets all replies and, of the distributions, the newest.
#[tokio::test]
async fn a_reader_that_catches_up_has_missed_only_old_distributions() {
    let market = Market::start(for_slow_readers()).await;
    let mut slow = market.connect().await;
    slow.request(JOIN).await;
    let mut fan = market.connect().await;
    fan.request(JOIN).await;

    let superseded = async || market.metric("market_distributions_superseded_total").await;
    fall_behind_and_catch_up(&mut slow, &mut fan, superseded).await;
    assert_eq!(market.metric("market_slow_disconnects_total").await, 0.0);
}
