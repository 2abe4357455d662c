use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::bus::model::Outcome;

fn user(number: u64) -> User {
    User::Connection(number)
}

fn predict(books: &mut Books, who: u64, pool: u64, outcome: Outcome, amount: u64) -> Verdict {
    let prediction = Prediction { user: user(who), pool: PoolId(pool), outcome, amount };
    books.predict(&prediction).unwrap()
}

/// An event that did not happen before.
fn event(game: u32, outcome: Outcome) -> Event {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    Event { game: GameId(game), number: NUMBERS.fetch_add(1, Ordering::Relaxed), outcome }
}

#[test]
fn winners_share_the_whole_pool() {
    let mut books = Books::new(1, 100);
    predict(&mut books, 1, 1, Outcome::Home, 10);
    predict(&mut books, 2, 1, Outcome::Home, 20);
    predict(&mut books, 3, 1, Outcome::Away, 31);
    let settlement = books.settle(event(1, Outcome::Home)).unwrap();
    assert_eq!(settlement.winners, 2);
    assert_eq!(settlement.next, PoolId(2));
    assert_eq!(settlement.score, Score { home: 1, away: 0 });
    // 61 cents over 10:20 are 20⅓ and 40⅔.
    assert_eq!(books.open_account(&user(1)).unwrap(), 90 + 20);
    assert_eq!(books.open_account(&user(2)).unwrap(), 80 + 41);
    assert_eq!(books.open_account(&user(3)).unwrap(), 69);
}

#[test]
fn without_a_winner_everyone_is_refunded() {
    let mut books = Books::new(1, 100);
    predict(&mut books, 1, 1, Outcome::Home, 10);
    predict(&mut books, 1, 1, Outcome::Away, 5);
    let settlement = books.settle(event(1, Outcome::None)).unwrap();
    assert_eq!((settlement.winners, settlement.pool.shares.total()), (0, 15));
    assert_eq!(books.open_account(&user(1)).unwrap(), 100);
}

#[test]
fn predictions_are_judged() {
    let mut books = Books::new(2, 100);
    let open = PoolId(1);
    assert_eq!(
        predict(&mut books, 1, 1, Outcome::Home, 60),
        Verdict::Accepted { game: GameId(1), open, balance: 40, returned: 0 }
    );
    assert_eq!(
        predict(&mut books, 1, 1, Outcome::Home, 41),
        Verdict::Refused { reason: Refusal::Balance, open, balance: 40, returned: 0 }
    );
    books.settle(event(1, Outcome::Away)).unwrap();
    assert_eq!(
        predict(&mut books, 1, 1, Outcome::Home, 1),
        Verdict::Refused { reason: Refusal::Closed, open: PoolId(3), balance: 100, returned: 0 }
    );
    assert_eq!(predict(&mut books, 1, 5, Outcome::Home, 1), Verdict::Unknown);
    assert_eq!(predict(&mut books, 1, 0, Outcome::Home, 1), Verdict::Unknown);
}

#[test]
fn settled_pools_are_remembered_and_then_forgotten() {
    let mut books = Books::new(2, 100);
    for _ in 0..=REMEMBERED {
        books.settle(event(2, Outcome::Home)).unwrap();
    }
    let pools = books.pools(GameId(2)).unwrap();
    assert_eq!(pools.len(), 1 + REMEMBERED);
    assert_eq!(pools[0].outcome, None);
    assert!(pools.windows(2).all(|pair| pair[0].id > pair[1].id));
    assert_eq!(books.pool(PoolId(2)), None);
    assert_eq!(books.pool(PoolId(4)).unwrap().outcome, Some(Outcome::Home));
    // Forgotten, but still known to be closed.
    assert!(matches!(predict(&mut books, 1, 2, Outcome::Home, 1), Verdict::Refused { .. }));
    assert_eq!((books.pools(GameId(0)), books.game(GameId(3))), (None, None));
}

#[derive(Debug, Clone)]
enum Act {
    Predict { who: u64, game: u32, outcome: Outcome, amount: u64 },
    Settle { game: u32, outcome: Outcome },
    Leave { who: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let outcome = || prop::sample::select(&Outcome::ALL[..]);
    let act = prop_oneof![
        8 => (0..6_u64, 1..=3_u32, outcome(), 1..90_u64)
            .prop_map(|(who, game, outcome, amount)| Act::Predict { who, game, outcome, amount }),
        2 => (1..=3_u32, outcome()).prop_map(|(game, outcome)| Act::Settle { game, outcome }),
        1 => (0..6_u64).prop_map(|who| Act::Leave { who }),
    ];
    prop::collection::vec(act, 0..120)
}

proptest! {
    #[test]
    fn money_is_kept_through_any_history(acts in acts()) {
        let mut books = Books::new(3, 250);
        for act in acts {
            match act {
                Act::Predict { who, game, outcome, amount } => {
                    let pool = books.pools(GameId(game)).unwrap()[0].id;
                    predict(&mut books, who, pool.0, outcome, amount);
                }
                Act::Settle { game, outcome } => {
                    books.settle(event(game, outcome)).unwrap();
                }
                Act::Leave { who } => books.close_account(&user(who)),
            }
            let money = books.audit();
            prop_assert!(money.balanced(), "{money:?}");
        }
        // Once every pool is settled and everyone has left, nothing remains.
        for game in 1..=3 {
            books.settle(event(game, Outcome::Home)).unwrap();
        }
        for who in 0..6 {
            books.close_account(&user(who));
        }
        let money = books.audit();
        prop_assert_eq!((money.balances, money.stakes), (0, 0));
        prop_assert_eq!(money.deposited, money.withdrawn);
        prop_assert_eq!(books.ledger.len(), 0);
    }
}
