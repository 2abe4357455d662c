//! What only the bus on Redis does, on a real one.

mod outages;

pub(crate) use crate::outside::bus::tests::support;
use crate::outside::bus::tests::{gaps_ms, published_at_once, released, round_trips};

use super::*;
use support::{LONG, Redis, options, state};

const GAME: GameId = GameId(1);

fn open(redis: &Redis, claims: Claims) -> RedisBus {
    RedisBus::open(&redis.address(), &options(claims)).unwrap()
}

#[test]
fn racing_claims_let_duplicates_through() {
    let Some(redis) = Redis::start() else { return };
    let batch = Duration::from_millis(50);
    let gaps = gaps_ms(&redis, Claims::Racing(ClaimSet::Late), batch, 30);
    let duplicates = gaps.iter().filter(|gap| **gap < 25.0).count();
    assert!(duplicates > 0, "{gaps:?}");
}

#[test]
fn all_of_three_publish_with_late_racing_claims() {
    let Some(redis) = Redis::start() else { return };
    let found = published_at_once(&redis, Claims::Racing(ClaimSet::Late));
    assert_eq!(found, (3, 3));
}

#[tokio::test]
async fn a_racing_claim_that_is_set_is_respected() {
    let Some(redis) = Redis::start() else { return };
    for (set, game) in [(ClaimSet::Early, GameId(1)), (ClaimSet::Late, GameId(2))] {
        let [one, other] = [(); 2].map(|()| open(&redis, Claims::Racing(set)));
        assert_eq!(one.claim(game, LONG).await, Ok(Claim::Won));
        let early = other.claim(game, LONG).await.unwrap();
        assert_eq!(early == Claim::Won, set == ClaimSet::Late, "{early:?}");
        assert_eq!(one.publish(game, state(1, 1)).await, Ok(true));
        let late = other.claim(game, LONG).await.unwrap();
        assert!(matches!(late, Claim::Held(left) if left <= LONG), "{late:?}");
    }
}

#[tokio::test]
async fn a_racing_claim_that_publishes_nothing_new_is_released() {
    let Some(redis) = Redis::start() else { return };
    let [one, other] = [(); 2].map(|()| open(&redis, Claims::Racing(ClaimSet::Early)));
    released(&one, &other).await;
}

#[tokio::test]
async fn round_trips_with_racing_claims_are_as_documented() {
    let Some(redis) = Redis::start() else { return };
    for (set, expected) in
        [(ClaimSet::Early, [2, 2, 1, 2, 2, 1]), (ClaimSet::Late, [1, 3, 1, 1, 2, 1])]
    {
        let options = BusOptions { market: format!("{set:?}"), ..options(Claims::Racing(set)) };
        let [bus, other] = [(); 2].map(|()| RedisBus::open(&redis.address(), &options).unwrap());
        assert_eq!(round_trips(&bus, &other).await, expected, "{set:?}");
    }
}

#[test]
fn a_refused_subscription_gives_the_reason() {
    let Some(redis) = Redis::start() else { return };
    let rules = ["ACL", "SETUSER", "default", "-psubscribe"];
    let mut rule = cmd(rules[0]);
    rule.arg(&rules[1..]).exec(&mut redis.connection()).unwrap();
    let mut bad = options(Claims::Atomic);
    bad.wait = Duration::from_secs(1);
    let Err(BusError::Unavailable(why)) = RedisBus::open(&redis.address(), &bad) else {
        panic!("opened without a subscription");
    };
    assert!(why.contains("psubscribe"), "{why}");
}
