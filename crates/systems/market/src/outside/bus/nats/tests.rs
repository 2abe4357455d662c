//! What only the bus on NATS does, on a real server.

use std::sync::Arc;

use super::*;
use crate::bus::Claims;
use crate::outside::bus::BusAddress;
use crate::outside::bus::tests::outages::nothing_twice;
use crate::outside::bus::tests::support::{
    Got, LONG, Server, event, got, nats_client, next, options, publish, state, up_to,
};

const GAME: GameId = GameId(1);

fn address(url: &str) -> NatsAddress {
    match BusAddress::parse(url) {
        Ok(BusAddress::Nats(address)) => address,
        other => panic!("{other:?}"),
    }
}

fn open(server: &Server) -> NatsBus {
    NatsBus::open(&address(&server.url), &options(Claims::Atomic)).unwrap()
}

#[tokio::test]
async fn a_subscriber_that_was_away_gets_the_last_of_each_kind_and_reports_the_rest() {
    let Some(server) = Server::start("nats") else {
        return;
    };
    let bus = open(&server);
    let dialer = Dialer::new(address(&server.url), Duration::from_secs(5));
    let shared = Arc::new(BusState {
        names: Names::new("test"),
        hub: Arc::new(Hub::new(2, Arc::clone(&dialer.figures))),
        link: Link::new(dialer),
        views: Views::new(2),
    });
    let mut channel = shared.hub.subscribe(GAME);
    let mut subscriber = Subscriber::new(Arc::clone(&shared));
    bus.publish(GAME, state(1, 1)).await.unwrap();
    // It begins behind the first message.
    subscriber.catch_up().await.unwrap();
    for publication in [state(1, 2), event(1, 1, 1), state(1, 3), state(1, 4), event(2, 1, 1)] {
        assert_eq!(bus.publish(GAME, publication).await, Ok(true));
    }
    subscriber.catch_up().await.unwrap();
    let expected = [
        // A distribution, an event and another distribution.
        Got::Lost(4),
        got(6, "distribution", Some(4)),
        got(7, "full_time", None),
        got(8, "settled", None),
    ];
    assert_eq!(up_to(&mut *channel, 8).await, expected);
    subscriber.catch_up().await.unwrap();
    bus.publish(GAME, state(1, 5)).await.unwrap();
    subscriber.catch_up().await.unwrap();
    assert_eq!(next(&mut *channel).await, got(9, "distribution", Some(5)));
    assert_eq!(shared.hub.metrics.lost.get(), 4);
}

#[test]
fn nothing_comes_twice_or_late_while_connections_are_cut() {
    let Some(server) = Server::start("nats") else {
        return;
    };
    let buses = [(); 3].map(|()| Arc::new(open(&server)));
    let remotes = buses.clone().map(|bus| bus as Arc<dyn Remote>);
    nothing_twice(&remotes, |process| {
        let slot = &buses[process].shared.link.slot;
        if let Some((number, _)) = slot.get() {
            slot.give_up(number);
        }
    });
    let returns = buses.map(|bus| bus.shared.hub.metrics.resubscribed.get());
    assert!(returns.iter().all(|count| *count > 0), "{returns:?}");
}

#[tokio::test]
async fn a_stream_that_was_emptied_does_not_lower_numbers() {
    let Some(server) = Server::start("nats") else {
        return;
    };
    let old = open(&server);
    let mut channel = old.subscribe(GAME);
    let mut returned = old.hub().returned();
    for total in 1..=3 {
        old.publish(GAME, state(1, total)).await.unwrap();
    }
    up_to(&mut *channel, 3).await;
    let (_, stream) = old.shared.link.get().unwrap();
    let api = format!("$JS.API.STREAM.PURGE.{}", stream.name);
    let client = nats_client(&server.url).await;
    client.request(api, "".into()).await.unwrap();
    let new = open(&server);
    assert_eq!(new.publish(GAME, state(1, 3)).await, Ok(true));
    tokio::time::timeout(LONG, returned.changed()).await.unwrap().unwrap();
    assert!(publish(&new, GAME, || state(1, 3)).await);
    assert_eq!(next(&mut *channel).await, got(4, "distribution", Some(3)));
    assert_eq!(old.hub().metrics().dropped.get(), 1);
}

#[tokio::test]
async fn what_others_publish_is_dropped() {
    let Some(server) = Server::start("nats") else {
        return;
    };
    let bus = open(&server);
    let mut channel = bus.subscribe(GAME);
    let client = nats_client(&server.url).await;
    for subject in ["market.test.news.g1", "market.test.news.g99", "market.test.news.x"] {
        client.publish(subject, "nonsense".into()).await.unwrap();
    }
    client.flush().await.unwrap();
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
    assert_eq!(next(&mut *channel).await, got(1, "distribution", Some(1)));
    // They may be read after that message.
    let dropped = async {
        while bus.hub().metrics().dropped.get() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, dropped).await.unwrap();
    assert_eq!(bus.hub().metrics().dropped.get(), 3);
}

#[tokio::test]
async fn a_stream_of_others_on_the_same_subjects_is_reported() {
    let Some(server) = Server::start("nats") else {
        return;
    };
    let client = nats_client(&server.url).await;
    let config = r#"{"name":"others","subjects":["market.>"],"storage":"memory"}"#;
    let created = client.request("$JS.API.STREAM.CREATE.others", config.into());
    created.await.unwrap();
    let opened = NatsBus::open(&address(&server.url), &options(Claims::Atomic));
    let Err(BusError::Unavailable(why)) = opened else {
        panic!("opened beside another stream");
    };
    assert!(why.contains("stream others"), "{why}");
}

#[tokio::test]
async fn tls_needs_a_certificate_that_is_trusted() {
    let services = testkit::services::Services::start(&["nats"]);
    let Some((services, ca)) = services.as_ref().and_then(|it| Some((it, it.ca()?))) else {
        return;
    };
    let Some(url) = services.tls_url("nats") else {
        return;
    };
    let open = |url: &str| NatsBus::open(&address(url), &options(Claims::Atomic));
    let bus = open(&format!("{url}?ssl_ca_certs={ca}")).unwrap();
    assert_eq!(bus.publish(GAME, state(1, 1)).await, Ok(true));
    let Err(BusError::Unavailable(why)) = open(url) else {
        panic!("trusted anybody");
    };
    assert!(why.contains("ssl_ca_certs"), "{why}");
}
