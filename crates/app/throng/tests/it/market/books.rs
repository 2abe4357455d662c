//! The books as they stand in the database, held against what the players know and against the rules.

use std::collections::{BTreeMap, HashMap};

use super::players::{Played, Stake, name};
use crate::support::Database;

/// What a new account holds.
const STARTING: i64 = 100_000;

pub(super) struct Counted {
    pub(super) pools_settled: usize,
    pub(super) payouts: usize,
    /// Predictions without a reply that are in the books.
    pub(super) unknown_kept: i64,
}

/// Checks that every cent is where it belongs.
pub(super) fn check(database: &Database, played: &Played) -> Counted {
    let stakes = predictions(database);
    let unknown_kept = check_players(database, played, &stakes);
    let paid = payouts(database);
    let settled = pools(database);
    let mut open = HashMap::new();
    for (pool, by_account) in &stakes {
        let Some(&outcome) = settled.get(pool) else {
            for (account, sums) in by_account {
                *open.entry(*account).or_default() += sums.iter().sum::<i64>();
            }
            continue;
        };
        let expected = share_out(by_account, outcome);
        let found = paid.get(pool).cloned().unwrap_or_default();
        assert_eq!(found, expected, "payouts of pool {pool}, which {outcome} decided");
    }
    check_balances(database, &stakes, &paid, &open);
    Counted {
        pools_settled: settled.len(),
        payouts: paid.values().map(BTreeMap::len).sum(),
        unknown_kept,
    }
}

/// By pool and account: the money on each outcome.
type Stakes = BTreeMap<i64, BTreeMap<i64, [i64; 3]>>;

fn predictions(database: &Database) -> Stakes {
    let columns = ["pool", "account", "outcome", "SUM(amount)"].map(|one| database.whole(one));
    let sql = format!(
        "SELECT {} FROM market_predictions GROUP BY pool, account, outcome",
        columns.join(", ")
    );
    let mut stakes = Stakes::new();
    for row in database.rows(&sql) {
        let sums = stakes.entry(row[0]).or_default().entry(row[1]).or_default();
        sums[usize::try_from(row[2]).unwrap()] = row[3];
    }
    stakes
}

/// By pool and account: what was paid.
fn payouts(database: &Database) -> BTreeMap<i64, BTreeMap<i64, i64>> {
    let columns = ["pool", "account", "amount"].map(|one| database.whole(one));
    let sql = format!("SELECT {} FROM market_payouts WHERE amount > 0", columns.join(", "));
    let mut paid: BTreeMap<i64, BTreeMap<i64, i64>> = BTreeMap::new();
    for row in database.rows(&sql) {
        let before = paid.entry(row[0]).or_default().insert(row[1], row[2]);
        assert_eq!(before, None, "account {} was paid twice for pool {}", row[1], row[0]);
    }
    paid
}

/// The outcomes of settled pools.
fn pools(database: &Database) -> HashMap<i64, i64> {
    let columns = ["id", "outcome"].map(|one| database.whole(one));
    let sql = format!("SELECT {} FROM market_pools WHERE outcome IS NOT NULL", columns.join(", "));
    database.rows(&sql).into_iter().map(|row| (row[0], row[1])).collect()
}

/// Every prediction that was accepted is there, every refused one is not; one without a reply may be.
fn check_players(database: &Database, played: &Played, stakes: &Stakes) -> i64 {
    let accounts: HashMap<u64, i64> = (0..played.players)
        .map(|player| {
            let sql = format!(
                "SELECT {} FROM market_accounts WHERE name = 'n{}'",
                database.whole("id"),
                name(player)
            );
            (player, database.rows(&sql)[0][0])
        })
        .collect();
    let mut known: HashMap<(i64, i64, i64), (i64, i64, i64)> = HashMap::new();
    let key = |stake: &Stake| (stake.pool, accounts[&stake.player], stake.outcome);
    for (stake, amounts) in &played.accepted {
        known.entry(key(stake)).or_default().0 += amounts.iter().sum::<i64>();
    }
    for (stake, amount) in &played.unknown {
        let entry = known.entry(key(stake)).or_default();
        (entry.1, entry.2) = (entry.1 + amount, entry.2 + 1);
    }
    let mut unknown_kept = 0;
    for (pool, by_account) in stakes {
        for (account, sums) in by_account {
            for (outcome, sum) in (0..).zip(sums) {
                let (accepted, unknown, count) =
                    known.remove(&(*pool, *account, outcome)).unwrap_or_default();
                let more = sum - accepted;
                assert!(
                    (0..=unknown).contains(&more),
                    "account {account} has {sum} on {outcome} of pool {pool}; {accepted} was accepted, and of \
                     {unknown} nothing is known"
                );
                unknown_kept += if more == unknown { count } else { i64::from(more > 0) };
            }
        }
    }
    let lost = known.into_iter().find(|(_, (accepted, ..))| *accepted > 0);
    assert_eq!(lost, None, "an accepted prediction is not there");
    unknown_kept
}

/// Each account has what it began with, minus its stakes, plus what it was paid.
fn check_balances(
    database: &Database,
    stakes: &Stakes,
    paid: &BTreeMap<i64, BTreeMap<i64, i64>>,
    open: &HashMap<i64, i64>,
) {
    let mut expected: HashMap<i64, i64> = HashMap::new();
    for (account, sums) in stakes.values().flatten() {
        *expected.entry(*account).or_insert(STARTING) -= sums.iter().sum::<i64>();
    }
    for (account, amount) in paid.values().flatten() {
        *expected.entry(*account).or_insert(STARTING) += amount;
    }
    let columns = ["id", "balance", "staked"].map(|one| database.whole(one));
    let sql = format!("SELECT {} FROM market_accounts", columns.join(", "));
    let accounts = database.rows(&sql);
    let mut total = 0;
    for row in &accounts {
        let balance = expected.get(&row[0]).copied().unwrap_or(STARTING);
        let staked = open.get(&row[0]).copied().unwrap_or_default();
        assert_eq!((row[1], row[2]), (balance, staked), "account {}", row[0]);
        total += row[1] + row[2];
    }
    assert_eq!(total, STARTING * accounts.len() as i64);
}

/// What each account gets: winners share the pool by the method of the largest remainder, the earlier account
/// first among equals; without a winner everyone gets the stake back.
fn share_out(by_account: &BTreeMap<i64, [i64; 3]>, outcome: i64) -> BTreeMap<i64, i64> {
    let place = usize::try_from(outcome).unwrap();
    let total: i64 = by_account.values().flatten().sum();
    let winning: i64 = by_account.values().map(|sums| sums[place]).sum();
    if winning == 0 {
        let each = by_account.iter();
        return each.map(|(account, sums)| (*account, sums.iter().sum())).collect();
    }
    let winners: Vec<(i64, i64)> = by_account
        .iter()
        .map(|(account, sums)| (*account, sums[place]))
        .filter(|(_, stake)| *stake > 0)
        .collect();
    let mut paid: BTreeMap<i64, i64> =
        winners.iter().map(|&(account, stake)| (account, total * stake / winning)).collect();
    let left = total - paid.values().sum::<i64>();
    let mut order = winners;
    order.sort_by_key(|&(account, stake)| (-(total * stake % winning), account));
    for (account, _) in order.into_iter().take(usize::try_from(left).unwrap()) {
        *paid.get_mut(&account).unwrap() += 1;
    }
    paid
}
