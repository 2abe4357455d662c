//! A replica of the store that is seconds behind: what is read there is old, and whatever must know of its own write
//! is read at the master.

use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::services::Services;
use tungstenite::{Message, WebSocket};

use crate::stores::{fetch, metric, until};
use crate::support::{Database, Served};

/// How far the replica is behind: so long that this test does not take longer to look.
const BEHIND_S: u32 = 8;
const STARTING: u64 = 100_000;

/// Who plays, on one process of the market.
struct Player(WebSocket<TcpStream>);

impl Player {
    fn connect(url: &str) -> Player {
        let address = url.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).unwrap();
        let url = format!("ws://{address}/v1/stream?user=ann");
        Player(tungstenite::client(url, stream).unwrap().0)
    }

    /// The reply to a request; pushed messages come between.
    fn request(&mut self, request: &Value) -> Value {
        let request = Message::text(request.to_string());
        self.0.send(request).unwrap();
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                let message: Value = serde_json::from_str(&text).unwrap();
                if message.get("re").is_some() {
                    return message;
                }
            }
        }
    }
}

/// What an HTTP resource says.
fn read(url: &str, path: &str) -> Value {
    let (status, text) = fetch(url, "GET", path);
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn is_behind(kind: &'static str) {
    let replica_name = format!("{kind}-replica");
    let Some(services) = Services::start(&[kind, &replica_name, "redis"]) else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&services, kind, "market_followed"))
    else {
        return;
    };
    let Some(replica) = database.replica(&services) else {
        return;
    };
    // The replica has the database before a market looks for it there.
    until(&true, || replica.exists());
    let with = |part, more: &[&'static str]| {
        let args = [
            "market",
            part,
            "--store",
            &database.url,
            "--store-read",
            &replica.url,
            "--threads",
            "1",
            "--bus",
            redis,
        ];
        Served::start(&[&args[..], more].concat())
    };
    // Nothing happens in the games but what this test records.
    let api = with("api", &["--batch", "200ms"]);
    let resolver = with("resolver", &[]);
    replica.delay(BEHIND_S);
    sees_its_own_writes(&api.url, &database);
    // What is read at the replica comes later.
    let score = || read(&api.url, "/v1/games/g1")["score"]["home"].clone();
    assert_eq!(score(), 0);
    until(&Value::from(1), score);
    let pools = read(&api.url, "/v1/games/g1/pools");
    assert_eq!(pools["pools"][1]["outcome"], "home", "{pools}");
    assert_eq!(pools["pools"][1]["total"], 7, "{pools}");
    let at = |call: &str| metric(&api.url, &format!("market_store_{call}_calls_total"));
    assert!(at("replica_game") > 1.0);
    assert_eq!((at("game"), at("pools")), (0.0, 0.0));
    resolver.stop();
    api.stop();
}

/// Plays, and finds at once what it did, though the replica knows nothing of it.
fn sees_its_own_writes(url: &str, database: &Database) {
    let mut player = Player::connect(url);
    let joined = player.request(&json!({"op": "join", "game": "g1"}));
    assert_eq!(joined["balance"], STARTING);
    for amount in [3, 4] {
        let predict = json!({"op": "predict", "pool": "p1", "option": "home", "amount": amount});
        assert_eq!(player.request(&predict)["accepted"], true);
    }
    let open = |player: &mut Player| {
        player.request(&json!({"op": "pools", "game": "g1"}))["pools"][0].clone()
    };
    let pool = open(&mut player);
    assert_eq!((&pool["id"], &pool["total"]), (&"p1".into(), &7.into()));
    // The list of pools is read at the replica, which is behind.
    let listed = read(url, "/v1/games/g1/pools");
    assert_eq!(listed["pools"][0]["total"], 0, "{listed}");
    // A goal settles the pool: the winner has the money at once, and the next pool is open.
    database
        .run("INSERT INTO market_events (game, number, outcome, announced) VALUES (1, 1, 0, 0)");
    until(&0, || database.number("SELECT count(*) FROM market_events WHERE announced = 0"));
    assert_eq!(open(&mut player)["id"], "p5");
    let again = Player::connect(url).request(&json!({"op": "join", "game": "g1"}));
    assert_eq!(again["balance"], STARTING);
    let late = json!({"op": "predict", "pool": "p1", "option": "home", "amount": 1});
    let refused = player.request(&late);
    assert_eq!((&refused["reason"], &refused["pool"]), (&"closed".into(), &"p5".into()));
}

#[test]
fn a_mariadb_replica_that_is_behind_hides_nobodys_own_writes() {
    is_behind("mysql");
}

#[test]
fn a_postgresql_replica_that_is_behind_hides_nobodys_own_writes() {
    is_behind("postgres");
}
