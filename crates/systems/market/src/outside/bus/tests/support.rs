//! What tests send through a bus, and do to its server.

use std::time::Duration;

use tokio::time::timeout;

use crate::bus::messages::Update;
use crate::bus::model::{GameId, Outcome, PoolId, Shares};
use crate::bus::{BusError, Publication};
use crate::outside::bus::Remote;
pub(crate) use crate::outside::bus::testing::{
    Got, LONG, Redis, Server, got, next, options, returns, up_to,
};

/// Everything in it is gone, and connections stay.
pub(crate) async fn flush(server: &Server) {
    if server.url.starts_with("redis:") {
        let client = redis::Client::open(&*server.url).unwrap();
        let mut connection = client.get_connection().unwrap();
        return redis::cmd("FLUSHALL").exec(&mut connection).unwrap();
    }
    let client = nats_client(&server.url).await;
    let request = async |api: String| {
        let request = client.request(format!("$JS.API.STREAM.{api}"), "".into());
        let answer = request.await.unwrap();
        serde_json::from_slice::<serde_json::Value>(&answer.payload).unwrap()
    };
    for name in request("NAMES".to_owned()).await["streams"].as_array().unwrap() {
        let deleted = request(format!("DELETE.{}", name.as_str().unwrap())).await;
        assert_eq!(deleted["success"], true, "{deleted}");
    }
}

/// A client of the test's own.
pub(crate) async fn nats_client(url: &str) -> async_nats::Client {
    let (login, _) = url.split_once("://").unwrap().1.rsplit_once('@').unwrap();
    let (user, password) = login.split_once(':').unwrap();
    let options = async_nats::ConnectOptions::with_user_and_password(user.into(), password.into());
    options.connect(url).await.unwrap()
}

/// Publishes until the bus is there.
pub(crate) async fn publish(
    bus: &dyn Remote,
    game: GameId,
    mut publication: impl FnMut() -> Publication,
) -> bool {
    let publishing = async {
        loop {
            match bus.publish(game, publication()).await {
                Ok(published) => return published,
                Err(BusError::Unavailable(_)) => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    timeout(LONG, publishing).await.expect("the bus returns")
}

/// The distribution of a pool with `total` cents, all on one option.
pub(crate) fn distribution(pool: u64, total: u64) -> Update {
    Update::Distribution {
        pool: PoolId(pool),
        total,
        shares: Shares { home: total, ..Shares::default() },
        predictions: None,
        last_prediction: None,
    }
}

pub(crate) fn state(pool: u64, total: u64) -> Publication {
    Publication::State { update: distribution(pool, total), bytes_min: 0 }
}

/// A match ends, and its pool is settled.
pub(crate) fn event(number: u64, pool: u64, next: u64) -> Publication {
    Publication::Event { number, updates: vec![Update::FullTime, settled(pool, next)] }
}

pub(crate) fn settled(pool: u64, next: u64) -> Update {
    Update::Settled {
        pool: PoolId(pool),
        outcome: Outcome::None,
        paid: 0,
        winners: 0,
        next: PoolId(next),
    }
}
