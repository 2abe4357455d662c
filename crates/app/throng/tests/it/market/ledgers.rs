//! Regional ledgers as processes: no cent is lost while the line to the owner is silent, and while an API, the
//! resolver and the owner's database are killed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use testkit::services::Services;

use super::players::Players;
use crate::stores::{address, metric, through, until};
use crate::support::{Database, Fault, Relay, Served, pass};

/// How long nothing passes between a region and the owner.
const SILENT_FOR: Duration = Duration::from_secs(10);
const PLAYED_FOR: Duration = Duration::from_secs(2);
/// Games with their open pools.
const GAMES: &str = "SELECT id, open_pool FROM market_games ORDER BY id";

/// A store in one place, and two regions with an API and a ledger each, of which one is behind a line.
struct World {
    owner: Database,
    ledgers: [Database; 2],
    lines: [Relay; 2],
    apis: [Option<Served>; 2],
    parts: [Option<Served>; 2],
    api_args: [Vec<String>; 2],
    resolver_args: Vec<String>,
}

fn start(args: &[String]) -> Served {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Served::start(&args)
}

fn args(part: &str, more: &[(&str, &str)]) -> Vec<String> {
    let options = more.iter().map(|(name, value)| format!("--{name}={value}"));
    let shared = ["market", part, "--store-connections=4", "--threads=1"].map(str::to_owned);
    shared.into_iter().chain(options).collect()
}

impl World {
    fn start(near: &Services, far: &Services, kind: &'static str) -> Option<World> {
        let owner = Database::on(near, kind, "market_owner")?;
        let redis = near.url("redis")?;
        let ledgers = [
            Database::on(far, kind, "market_ledger_0")?,
            Database::on(far, kind, "market_ledger_1")?,
        ];
        let lines = [Relay::to(address(&owner.url)), Relay::to(address(redis))];
        let store = ("store", &*owner.url);
        let resolver_args = args("resolver", &[store, ("bus", redis)]);
        let feed_args = args("events", &[store, ("goal-every", "1s")]);
        let wait = ("store-wait", "1500ms");
        let api = |store: &str, bus: &str, ledger: &Database| {
            let alone = ("ledger-alone", "30s");
            let addresses = [("store", store), ("bus", bus), ("ledger", &ledger.url)];
            args("api", &[&addresses[..], &[wait, alone, ("batch", "200ms")]].concat())
        };
        let behind = [through(&owner.url, &lines[0]), through(redis, &lines[1])];
        let api_args =
            [api(&owner.url, redis, &ledgers[0]), api(&behind[0], &behind[1], &ledgers[1])];
        Some(World {
            parts: [Some(start(&resolver_args)), Some(start(&feed_args))],
            apis: [Some(start(&api_args[0])), Some(start(&api_args[1]))],
            owner,
            ledgers,
            lines,
            api_args,
            resolver_args,
        })
    }

    fn url(&self, region: usize) -> String {
        self.apis[region].as_ref().unwrap().url.clone()
    }

    fn kill_and_restart(&mut self, region: usize) {
        self.apis[region].take().unwrap().kill();
        self.apis[region] = Some(start(&self.api_args[region]));
    }

    fn sum(&self, database: &Database, expression: &str, from: &str) -> i64 {
        let sum = database.whole(&format!("coalesce(sum({expression}), 0)"));
        database.number(&format!("SELECT {sum} FROM {from}"))
    }

    /// One look at a ledger: what its process says that it has, and what it should have.
    fn is_balanced(&self, region: usize) {
        let number = |database: &Database, sum: &str| database.whole(sum);
        let ledger = &self.ledgers[region];
        let sql = format!(
            "SELECT {}",
            number(
                ledger,
                "(SELECT coalesce(sum(balance + staked - deposited + withdrawn), 0) FROM market_accounts) \
                 - (SELECT coalesce(sum(amount - staked), 0) FROM market_payouts)"
            )
        );
        assert_eq!(ledger.number(&sql), 0, "ledger {region}");
    }

    /// Counts the money of all databases, once nothing is on its way.
    fn count(&self) -> Counted {
        let mut counted = Counted::default();
        let stakes = "market_predictions p JOIN market_games g ON g.open_pool = p.pool";
        let open = self.sum(&self.owner, "p.amount", stakes);
        for ledger in &self.ledgers {
            counted.deposited += self.sum(ledger, "deposited - withdrawn", "market_accounts");
            counted.balances += self.sum(ledger, "balance", "market_accounts");
            counted.refunds += ledger.number("SELECT count(*) FROM market_refunds");
            counted.predictions += ledger.number("SELECT count(*) FROM market_predictions");
            counted.placed += self.sum(ledger, "amount", "market_predictions");
        }
        counted.entries = self.owner.number("SELECT count(*) FROM market_entries");
        counted.pools =
            self.owner.number("SELECT count(*) FROM market_pools WHERE outcome IS NOT NULL");
        assert_eq!(counted.balances + open, counted.deposited, "{counted:?}, open {open}");
        assert_eq!(counted.entries + counted.refunds, counted.predictions, "{counted:?}");
        assert_eq!(
            counted.entries,
            self.owner.number("SELECT count(*) FROM market_predictions"),
            "each was taken once"
        );
        counted
    }
}

#[derive(Debug, Default)]
struct Counted {
    deposited: i64,
    balances: i64,
    /// Predictions that came too late.
    refunds: i64,
    /// Those that ledgers accepted, and their cents.
    predictions: i64,
    placed: i64,
    /// Those that the owner took.
    entries: i64,
    pools: i64,
}

fn money_is_kept(kind: &'static str) {
    let (Some(near), Some(far)) = (Services::start(&[kind, "redis"]), Services::start(&[kind]))
    else {
        return;
    };
    let Some(mut world) = World::start(&near, &far, kind) else {
        return;
    };
    let addresses = Arc::new(Mutex::new(vec![world.url(0), world.url(1)]));
    let players = Players::few(&addresses);
    let accepted = || players.seen.accepted.load(Ordering::Relaxed);
    pass(PLAYED_FOR);

    // The line to one region is silent: its users go on. Not in games whose settlement was announced and is not copied,
    // which on a slow machine might be all of them.
    until(&true, || world.ledgers[1].rows(GAMES) == world.owner.rows(GAMES));
    let accepted_there = || metric(&world.url(1), "market_predictions_accepted_total");
    let before = accepted_there();
    for line in &world.lines {
        line.disturb(Fault::Silence);
    }
    for _ in 0..5 {
        pass(SILENT_FOR / 5);
        (0..2).for_each(|region| world.is_balanced(region));
    }
    // It takes longer where the machine is busy with other tests.
    until(&true, || accepted_there() - before > 30.0);
    assert!(world.ledgers[1].number("SELECT count(*) FROM market_outbox") > 15);
    for line in &world.lines {
        line.restore();
    }
    pass(PLAYED_FOR);

    for region in 0..2 {
        world.kill_and_restart(region);
        addresses.lock().unwrap()[region] = world.url(region);
        pass(PLAYED_FOR / 2);
        (0..2).for_each(|region| world.is_balanced(region));
    }
    world.parts[0].take().unwrap().kill();
    world.parts[0] = Some(start(&world.resolver_args));

    // Without the owner's database they go on, but for games whose settlement was announced and is not copied.
    let before = accepted();
    near.kill(kind);
    pass(PLAYED_FOR);
    (0..2).for_each(|region| world.is_balanced(region));
    until(&true, || accepted() > before + 20);
    near.start_again(kind);
    pass(PLAYED_FOR);

    let played = players.stop();
    world.parts[1].take().unwrap().stop();
    until(&0, || world.owner.number("SELECT count(*) FROM market_events WHERE announced = 0"));
    for ledger in &world.ledgers {
        until(&0, || ledger.number("SELECT count(*) FROM market_outbox"));
        // A game on which nobody had money is skipped to its open pool.
        until(&world.owner.rows(GAMES), || ledger.rows(GAMES));
    }
    let counted = world.count();
    let known: i64 = played.accepted.values().flatten().sum();
    let unknown: i64 = played.unknown.iter().map(|(_, amount)| amount).sum();
    assert!(known <= counted.placed && counted.placed <= known + unknown, "{known}, {unknown}");
    assert!(counted.refunds > 0 && counted.pools > 10, "{counted:?}");
    for api in world.apis.into_iter().chain(world.parts).flatten() {
        api.stop();
    }
}

#[test]
fn money_is_kept_between_ledgers_and_their_owner_on_mariadb() {
    money_is_kept("mysql");
}

#[test]
fn money_is_kept_between_ledgers_and_their_owner_on_postgresql() {
    money_is_kept("postgres");
}
