//! Regional ledgers: no cent is made or lost, whatever is repeated, lost or late.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;
use crate::outside::store::Regional;
use crate::outside::store::sql::ledger::{DecisionCounts, Entry};

/// Histories that are played on each server, unless `THRONG_CASES` says how many.
const CASES: u64 = 3;
const LIMITS: [Duration; 2] = [Duration::from_secs(60); 2];

#[derive(Debug, Clone)]
enum Act {
    Predict {
        region: usize,
        who: u32,
        game: u32,
        outcome: Outcome,
        amount: u64,
    },
    /// A user without a ledger.
    PredictDirectly {
        game: u32,
        outcome: Outcome,
        amount: u64,
    },
    Close {
        region: usize,
        who: u32,
    },
    Carry {
        region: usize,
    },
    /// The owner takes what is in the outbox, and the answer is lost.
    LoseAnswer {
        region: usize,
    },
    /// What was once sent arrives again, late.
    Late {
        region: usize,
    },
    Settle {
        game: u32,
        outcome: Outcome,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let outcome = || prop::sample::select(&Outcome::ALL[..]);
    let amount = prop_oneof![20 => 1..300_u64, 1 => Just(u64::MAX)];
    let predict = (0..2_usize, 0..3_u32, 1..=3_u32, outcome(), amount).prop_map(
        |(region, who, game, outcome, amount)| Act::Predict { region, who, game, outcome, amount },
    );
    let directly = (1..=3_u32, outcome(), 1..300_u64)
        .prop_map(|(game, outcome, amount)| Act::PredictDirectly { game, outcome, amount });
    let act = prop_oneof![
        14 => predict,
        2 => directly,
        1 => (0..2_usize, 0..3_u32).prop_map(|(region, who)| Act::Close { region, who }),
        4 => (0..2_usize).prop_map(|region| Act::Carry { region }),
        2 => (0..2_usize).prop_map(|region| Act::LoseAnswer { region }),
        2 => (0..2_usize).prop_map(|region| Act::Late { region }),
        3 => (1..=3_u32, outcome()).prop_map(|(game, outcome)| Act::Settle { game, outcome }),
    ];
    prop::collection::vec(act, 1..40)
}

/// A connection that looks at a database.
struct Look(RefCell<Box<dyn Connection + Send>>);

impl Look {
    fn at(database: &Database) -> Self {
        Self(RefCell::new(connect(&database.address)))
    }

    fn numbers(&self, sql: &str) -> Vec<i64> {
        let rows = self.0.borrow_mut().rows(sql, &[]).unwrap();
        let first = |row: &open::Row| open::number(row, 0).unwrap();
        rows.iter().map(first).collect()
    }

    fn number(&self, sql: &str) -> i64 {
        self.numbers(sql)[0]
    }
}

/// A store, and two ledgers of it.
struct World {
    owner: Arc<Sql>,
    owner_database: Database,
    look: Look,
    ledgers: Vec<(Look, Arc<Sql>, Regional)>,
    ledger_database: Database,
    /// What was sent to the owner, by ledger.
    sent: Vec<Vec<Entry>>,
}

impl World {
    /// One on each kind of server that there is.
    fn each() -> Vec<Self> {
        let services = SERVICES.as_ref();
        let on = |kind| {
            let database = || services.and_then(|services| Database::on(services, kind));
            Some(Self::new(database()?, vec![database()?, database()?]))
        };
        KINDS.into_iter().filter_map(on).collect()
    }

    fn new(owner_database: Database, databases: Vec<Database>) -> Self {
        let owner = Sql::open(&SqlOptions { purpose: Purpose::Owner, ..owner_database.options() });
        let owner = Arc::new(owner.unwrap());
        let ledger_database = databases[0].clone();
        let ledgers = databases.into_iter().map(|database| {
            let ledger = Arc::new(ledger(&database, &owner));
            let far: Arc<dyn Store> = Arc::clone(&owner) as Arc<dyn Store>;
            let regional = Regional::new(Arc::clone(&ledger), Arc::clone(&owner), far, 3, LIMITS);
            (Look::at(&database), ledger, regional)
        });
        Self {
            ledgers: ledgers.collect(),
            look: Look::at(&owner_database),
            ledger_database,
            owner_database,
            owner,
            sent: vec![Vec::new(), Vec::new()],
        }
    }

    async fn play(&mut self, act: &Act) {
        match *act {
            Act::Predict { region, who, game, outcome, amount } => {
                let (_, ledger, regional) = &self.ledgers[region];
                let open = ledger.open_pool(GameId(game)).await.unwrap().unwrap();
                let user = named(&format!("user {who}"));
                let prediction = prediction(&user, open.id.0, outcome, amount);
                regional.predict(&prediction).await.unwrap();
            }
            Act::PredictDirectly { game, outcome, amount } => {
                let open = self.owner.open_pool(GameId(game)).await.unwrap().unwrap();
                let prediction = prediction(&named("near"), open.id.0, outcome, amount);
                self.owner.predict(&prediction).await.unwrap();
            }
            Act::Close { region, who } => {
                let user = named(&format!("user {who}"));
                self.ledgers[region].2.close_account(&user).await.unwrap();
            }
            Act::Carry { region } => self.ledgers[region].2.carry(|_| ()).await.unwrap(),
            Act::LoseAnswer { region } => {
                let entries = self.ledgers[region].1.undecided().await.unwrap();
                self.send(region, &entries).await;
                self.sent[region].extend(entries);
            }
            Act::Late { region } => {
                let entries = self.sent[region].clone();
                self.send(region, &entries).await;
            }
            Act::Settle { game, outcome } => {
                let last = self.owner.last_event(GameId(game)).await.unwrap();
                let event = event(game, last + 1, outcome);
                self.owner.record(event).await.unwrap();
                self.owner.settle(event).await.unwrap();
                self.owner.announced(event).await.unwrap();
            }
        }
    }

    async fn send(&self, region: usize, entries: &[Entry]) {
        let number = self.ledgers[region].1.number();
        for game in GameId::all(3) {
            let of_game = |entry: &&Entry| entry.pool.game(3) == Some(game);
            let entries: Vec<Entry> = entries.iter().filter(of_game).copied().collect();
            self.owner.take(number, game, &entries).await.unwrap();
        }
    }

    /// Counts the money in all databases, wherever it is.
    async fn check(&self) {
        let money = self.owner.audit().await.unwrap();
        assert!(money.balanced(), "owner: {money:?}");
        for (here, ledger, _) in &self.ledgers {
            let money = ledger.audit_ledger().await.unwrap();
            assert!(money.balanced(), "ledger: {money:?}");
            let id = ledger.number();
            let owner = &self.look;
            let deposited =
                here.number("SELECT CAST(coalesce(sum(deposited - withdrawn), 0) AS CHAR(40)) FROM market_accounts");
            let balances = here
                .number("SELECT CAST(coalesce(sum(balance), 0) AS CHAR(40)) FROM market_accounts");
            let open_stakes = owner.number(&format!(
                "SELECT CAST(coalesce(sum(e.amount), 0) AS CHAR(40)) FROM market_entries e \
                 JOIN market_games g ON g.open_pool = e.pool WHERE e.ledger = {id}"
            ));
            let undecided = here.numbers("SELECT id FROM market_outbox");
            let there =
                owner.numbers(&format!("SELECT entry FROM market_entries WHERE ledger = {id}"));
            let mut on_its_way = 0;
            for entry in undecided.iter().filter(|entry| !there.contains(entry)) {
                on_its_way += here
                    .number(&format!("SELECT amount FROM market_predictions WHERE id = {entry}"));
            }
            let copied = here.numbers("SELECT id FROM market_pools WHERE outcome IS NOT NULL");
            let mut on_its_way_back = 0;
            for pool in owner.numbers("SELECT id FROM market_pools WHERE outcome IS NOT NULL") {
                if !copied.contains(&pool) {
                    on_its_way_back += owner.number(&format!(
                        "SELECT CAST(coalesce(sum(y.amount), 0) AS CHAR(40)) FROM market_payouts y \
                         JOIN market_accounts a ON a.id = y.account \
                         WHERE y.pool = {pool} AND a.name LIKE 'l{id}.%'"
                    ));
                }
            }
            // What other ledgers lost to this one, or won.
            let won = owner.number(&format!(
                "SELECT CAST(coalesce(sum(y.amount - y.staked), 0) AS CHAR(40)) FROM market_payouts y \
                 JOIN market_accounts a ON a.id = y.account WHERE a.name LIKE 'l{id}.%'"
            ));
            assert_eq!(
                balances + open_stakes + on_its_way + on_its_way_back,
                deposited + won,
                "balances {balances}, open {open_stakes}, way {on_its_way}, back {on_its_way_back}"
            );
        }
    }

    /// Everything is brought to its place: then the ledgers know all that the owner does.
    async fn rest(&self) {
        for (here, ledger, regional) in &self.ledgers {
            regional.carry(|_| ()).await.unwrap();
            assert_eq!(ledger.undecided().await, Ok(Vec::new()));
            let paid = "SELECT CAST(coalesce(sum(amount), 0) AS CHAR(40)) FROM market_payouts";
            let owed = self.look.number(&format!(
                "SELECT CAST(coalesce(sum(y.amount), 0) AS CHAR(40)) FROM market_payouts y \
                 JOIN market_accounts a ON a.id = y.account WHERE a.name LIKE 'l{}.%'",
                ledger.number()
            ));
            assert_eq!(here.number(paid), owed);
            for game in GameId::all(3) {
                let here = ledger.open_pool(game).await;
                let there = self.owner.open_pool(game).await;
                assert_eq!(here.unwrap().unwrap().id, there.unwrap().unwrap().id);
            }
        }
    }
}

fn ledger(database: &Database, owner: &Sql) -> Sql {
    let ledger =
        Sql::open(&SqlOptions { purpose: Purpose::LedgerOf(owner.number()), ..database.options() });
    ledger.unwrap()
}

#[test]
fn money_is_conserved_whatever_is_lost_or_repeated() {
    let cases = u32::try_from(testkit::cases(CASES)).unwrap();
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 8,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let played = runner.run(&acts(), |acts| {
        for mut world in World::each() {
            run(async {
                for act in &acts {
                    world.play(act).await;
                    world.check().await;
                }
                world.rest().await;
                world.check().await;
            });
        }
        Ok(())
    });
    played.unwrap();
}

#[test]
fn late_predictions_are_paid_back_and_reported_once() {
    for mut world in World::each() {
        let predict =
            Act::Predict { region: 0, who: 0, game: 1, outcome: Outcome::Home, amount: 30 };
        let settle = Act::Settle { game: 1, outcome: Outcome::Away };
        run(async {
            world.play(&predict).await;
            world.play(&settle).await;
            world.play(&Act::Carry { region: 0 }).await;
            let regional = &world.ledgers[0].2;
            let late = prediction(&named("user 0"), 1, Outcome::Home, 1);
            for returned in [30, 0] {
                let verdict = Verdict::Refused {
                    reason: Refusal::Closed,
                    open: PoolId(4),
                    balance: 1000,
                    returned,
                };
                assert_eq!(regional.predict(&late).await, Ok(verdict));
            }
            world.check().await;
        });
    }
}

#[test]
fn a_prediction_waits_until_an_announced_settlement_was_copied() {
    for mut world in World::each() {
        let predict = |outcome| Act::Predict { region: 0, who: 0, game: 1, outcome, amount: 30 };
        let settle = Act::Settle { game: 1, outcome: Outcome::Home };
        run(async {
            world.play(&predict(Outcome::Home)).await;
            world.play(&Act::Carry { region: 0 }).await;
            world.play(&settle).await;
            let regional = &world.ledgers[0].2;
            regional.announce(GameId(1), PoolId(4));
            let next = prediction(&named("user 0"), 4, Outcome::Away, 1);
            let (verdict, carried) = tokio::join!(regional.predict(&next), regional.carry(|_| ()));
            carried.unwrap();
            // The pool before it was paid.
            assert!(matches!(verdict, Ok(Verdict::Accepted { balance: 999, .. })));
            world.check().await;
        });
    }
}

#[test]
fn a_pool_that_is_new_to_the_region_is_unknown_once_all_was_copied() {
    for mut world in World::each() {
        let settle = Act::Settle { game: 1, outcome: Outcome::Home };
        run(async {
            world.play(&settle).await;
            let (_, _, regional) = &world.ledgers[0];
            let predict = |pool| prediction(&named("user 0"), pool, Outcome::Away, 1);
            let [open, never] = [4, 3001].map(predict);
            let (open, never, carried) =
                tokio::join!(regional.predict(&open), regional.predict(&never), async {
                    // They wait by then.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    regional.carry(|_| ()).await
                },);
            carried.unwrap();
            assert!(matches!(open, Ok(Verdict::Accepted { .. })), "{open:?}");
            assert_eq!(never, Ok(Verdict::Unknown));
            // Pools before the open one are not waited for.
            let old = prediction(&named("user 0"), 1, Outcome::Away, 1);
            assert!(regional.predict(&old).await.is_ok());
            world.check().await;
        });
    }
}

#[test]
fn a_pool_that_is_new_to_the_region_is_unavailable_without_the_owner() {
    for (owner_database, database) in Database::each().into_iter().zip(Database::each()) {
        let owner = Arc::new(Sql::open(&owner_database.options()).unwrap());
        let ledger = Arc::new(ledger(&database, &owner));
        let far: Arc<dyn Store> = Arc::clone(&owner) as Arc<dyn Store>;
        let limits = [Duration::from_secs(60), Duration::from_millis(50)];
        let regional = Regional::new(ledger, owner, far, 3, limits);
        run(async {
            let newer = prediction(&named("someone"), 4, Outcome::Home, 1);
            let verdict = regional.predict(&newer).await;
            assert!(matches!(verdict, Err(StoreError::Unavailable(_))), "{verdict:?}");
        });
    }
}

#[test]
fn two_processes_that_decide_the_same_count_it_once() {
    for world in World::each() {
        let database = &world.ledger_database;
        // As an earlier version left it.
        let kind = match database.kind {
            "postgres" => "FUNCTION",
            _ => "PROCEDURE",
        };
        database.run(&format!("DROP {kind} market_conclude"));
        let ledgers = [(); 2].map(|()| ledger(database, &world.owner));
        let regional = &world.ledgers[0].2;
        let ids: Vec<i64> = run(async {
            for number in 0..4 {
                let user = named(&format!("user {number}"));
                let first = prediction(&user, 1, Outcome::Home, 10);
                regional.predict(&first).await.unwrap();
            }
            let entries = ledgers[0].undecided().await.unwrap();
            entries.iter().map(|entry| entry.id).collect()
        });
        let mut other = connect(&database.address);
        other.plain("BEGIN").unwrap();
        let all = "SELECT id FROM market_outbox ORDER BY id FOR UPDATE";
        assert_eq!(other.rows(all, &[]).unwrap().len(), 4);
        let decided = std::thread::scope(|scope| {
            let (taken, refused) = ids.split_at(1);
            let decide = ledgers.iter().map(|ledger| {
                scope.spawn(move || run(ledger.decide(taken.to_vec(), refused.to_vec())))
            });
            let decide: Vec<_> = decide.collect();
            // Until both of them wait.
            while database.waiting_for_locks() < 2 {}
            other.plain("COMMIT").unwrap();
            decide
                .into_iter()
                .map(|one| one.join().unwrap().unwrap())
                .collect::<Vec<DecisionCounts>>()
        });
        let all = DecisionCounts { taken: 1, refused: 3, cents: 30 };
        assert!(decided.contains(&all), "{} {decided:?}", database.kind);
        assert!(decided.contains(&DecisionCounts::default()), "{decided:?}");
    }
}

#[test]
fn a_game_that_cannot_be_delivered_keeps_no_other_from_being_published() {
    for (owner_database, database) in Database::each().into_iter().zip(Database::each()) {
        let owner = Sql::open(&SqlOptions {
            purpose: Purpose::Owner,
            wait: Duration::from_secs(1),
            ..owner_database.options()
        });
        let owner = Arc::new(owner.unwrap());
        let ledger = Arc::new(ledger(&database, &owner));
        let far: Arc<dyn Store> = Arc::clone(&owner) as Arc<dyn Store>;
        let regional = Regional::new(Arc::clone(&ledger), owner, far, 3, LIMITS);
        let mut other = connect(&owner_database.address);
        other.plain("BEGIN").unwrap();
        let lock = match owner_database.kind {
            "postgres" => "SELECT CAST(pg_advisory_xact_lock(1835102827, 1) AS TEXT)",
            _ => "SELECT id FROM market_games WHERE id = 1 FOR UPDATE",
        };
        other.rows(lock, &[]).unwrap();
        run(async {
            for pool in [1, 2] {
                let first = prediction(&named("someone"), pool, Outcome::Home, 1);
                regional.predict(&first).await.unwrap();
            }
            let touched = RefCell::new(Vec::new());
            let carried = regional.carry(|game| touched.borrow_mut().push(game)).await;
            assert!(matches!(carried, Err(StoreError::Unavailable(_))), "{carried:?}");
            assert_eq!(*touched.borrow(), [GameId(2)]);
            assert_eq!(ledger.undecided().await.unwrap().len(), 1);
        });
    }
}

#[test]
fn without_the_owner_predictions_are_accepted_for_a_while() {
    let Some(services) = Services::start(&["mysql"]) else {
        return;
    };
    let Some(owner_database) = Database::on(&services, "mysql") else {
        return;
    };
    let Some(database) = SERVICES.as_ref().and_then(|it| Database::on(it, "mysql")) else {
        return;
    };
    let owner = Sql::open(&SqlOptions {
        purpose: Purpose::Owner,
        wait: Duration::from_secs(2),
        ..owner_database.options()
    });
    let owner = Arc::new(owner.unwrap());
    let ledger = Arc::new(ledger(&database, &owner));
    let alone_max = Duration::from_secs(3);
    let far: Arc<dyn Store> = Arc::clone(&owner) as Arc<dyn Store>;
    let regional = Regional::new(Arc::clone(&ledger), owner, far, 3, [alone_max; 2]);
    run(async {
        regional.carry(|_| ()).await.unwrap();
        drop(services);
        let prediction = prediction(&named("someone"), 1, Outcome::Home, 1);
        let verdict = regional.predict(&prediction).await.unwrap();
        assert!(matches!(verdict, Verdict::Accepted { balance: 999, .. }));
        assert!(regional.carry(|_| ()).await.is_err());
        assert_eq!(ledger.undecided().await.unwrap().len(), 1);
        tokio::time::sleep(alone_max).await;
        let refused = regional.predict(&prediction).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
    });
}

#[test]
fn ledgers_and_stores_are_not_taken_for_each_other() {
    for world in World::each() {
        let error = |database: &Database, purpose| {
            let options = SqlOptions { purpose, ..database.options() };
            match Sql::open(&options) {
                Ok(_) => panic!("{options:?} was opened"),
                Err(error) => error,
            }
        };
        let number = world.owner.number();
        let ledger = &world.ledger_database;
        assert_eq!(error(ledger, Purpose::Store), OpenError::OtherTables);
        assert_eq!(error(&world.owner_database, Purpose::LedgerOf(number)), OpenError::OtherTables);
        let other = Purpose::LedgerOf(number ^ 1);
        assert_eq!(error(ledger, other), OpenError::OtherOwner);
    }
}
