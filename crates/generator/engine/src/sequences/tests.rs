//! The accounts of several loops against an oracle that knows everything.

use std::collections::{BTreeMap, BTreeSet};

use plan::MessageId;
use proptest::prelude::*;

use super::accounts::{Accounts, Heads, Settlements, SubscriptionOrigin};
use super::track::NumberFit;
use super::{GRACE_SLOTS, Ledger, SLOT_NS, sequence, slot};

const S: u64 = 1_000_000_000;
const LOOPS: usize = 3;

/// A subscription, and what it gets: when, and which number.
#[derive(Debug, Clone)]
struct User {
    ready_ns: u64,
    closed_ns: u64,
    got: Vec<(u64, u64)>,
}

#[derive(Debug, PartialEq, Eq, Default)]
struct Counted {
    lost: u64,
    duplicated: u64,
    out_of_order: u64,
}

/// As the loops and the ledger count it.
fn counted(users: &[User]) -> Counted {
    let name = sequence(b"");
    let mut loops: Vec<_> = (0..LOOPS)
        .map(|_| (Accounts::for_tests(), Heads::default(), Settlements::default()))
        .collect();
    let mut sum = Counted::default();
    for (key, user) in users.iter().enumerate() {
        let (accounts, heads, settlements) = &mut loops[key % LOOPS];
        let opened = SubscriptionOrigin { by: 1, topics: false, alike: true };
        let key = key as u32;
        accounts.open(key, opened, user.ready_ns);
        for &(at_ns, number) in &user.got {
            let taken = accounts.take(key, MessageId(0), name, number, at_ns);
            match taken.got {
                NumberFit::New { lost } => sum.lost += lost,
                NumberFit::OutOfOrder => sum.out_of_order += 1,
                NumberFit::Duplicate => sum.duplicated += 1,
                other => panic!("{other:?}"),
            }
            assert!(heads.add(MessageId(0), name, taken.opening, at_ns, number));
        }
        let ended = accounts.close(key, &[], user.closed_ns, settlements);
        sum.lost += ended.iter().map(|ended| ended.missing).sum::<u64>();
    }
    let mut ledger = Ledger::default();
    for (_, heads, _) in &mut loops {
        ledger.see(&heads.take());
    }
    for (.., settlements) in &mut loops {
        ledger.settle(&settlements.take());
    }
    sum.lost += ledger.take_found().get(&MessageId(0)).map_or(0, |found| found.lost);
    sum
}

/// By the definition alone: what was published when, and who was there.
fn expected(users: &[User]) -> Counted {
    let mut first_seen: BTreeMap<u64, u32> = BTreeMap::new();
    for &(at_ns, number) in users.iter().flat_map(|user| &user.got) {
        let seen = first_seen.entry(number).or_insert(u32::MAX);
        *seen = (*seen).min(slot(at_ns));
    }
    // A number was published before any higher one.
    let published = |number: u64| first_seen.range(number..).map(|(_, &at)| at).min();
    let start = first_seen.values().min().copied();
    let base = first_seen.iter().find(|(_, at)| Some(**at) == start).map(|(&n, _)| n);
    let last = first_seen.keys().last().copied().unwrap_or(0);
    let mut sum = Counted::default();
    for user in users {
        let mut had = BTreeSet::new();
        let mut highest = None;
        for &(_, number) in &user.got {
            if !had.insert(number) {
                sum.duplicated += 1;
            } else if highest.is_some_and(|highest| number < highest) {
                sum.out_of_order += 1;
            }
            highest = highest.max(Some(number));
        }
        let low = had.first().copied();
        let high = had.last().copied();
        for number in 0..=last {
            let Some(at) = published(number) else {
                continue;
            };
            let began = at > slot(user.ready_ns) + GRACE_SLOTS && Some(number) >= base;
            let ended = at + GRACE_SLOTS >= slot(user.closed_ns);
            let is_after_first = low.is_some_and(|low| number > low);
            let is_before_last = high.is_some_and(|high| number < high);
            let demanded = (is_after_first || began) && (is_before_last || !ended);
            sum.lost += u64::from(demanded && !had.contains(&number));
        }
    }
    sum
}

/// What becomes of one number on its way to one user.
#[derive(Debug, Clone, Copy)]
enum Way {
    Arrives,
    Lost,
    Twice,
    /// It arrives this much later, behind others.
    Late(u64),
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        6 => Just(Way::Arrives),
        2 => Just(Way::Lost),
        1 => Just(Way::Twice),
        1 => (1_u64..900).prop_map(|ms| Way::Late(ms * 1_000_000)),
    ]
}

/// Users that join late and leave early, and numbers from 1 every 330 ms from the fourth second on.
fn users() -> impl Strategy<Value = Vec<User>> {
    let user = (0_u64..12, 1_u64..25, any::<bool>(), prop::collection::vec(way(), 40));
    prop::collection::vec(user, 1..9).prop_map(|users| {
        let users = users.into_iter().map(|(joins_s, stays_s, deaf, ways)| {
            let ready_ns = joins_s * S;
            let closed_ns = (joins_s + stays_s) * S;
            let mut got = Vec::new();
            for (place, way) in ways.into_iter().enumerate().filter(|_| !deaf) {
                let sent_ns = 4 * S + place as u64 * 330_000_000;
                let number = place as u64 + 1;
                if sent_ns < ready_ns {
                    continue;
                }
                let at_ns = sent_ns + 20_000_000;
                match way {
                    Way::Arrives => got.push((at_ns, number)),
                    Way::Lost => {}
                    Way::Twice => got.extend([(at_ns, number), (at_ns + 1, number)]),
                    Way::Late(more_ns) => got.push((at_ns + more_ns, number)),
                }
            }
            got.retain(|&(at_ns, _)| at_ns < closed_ns);
            got.sort_unstable();
            User { ready_ns, closed_ns, got }
        });
        users.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    /// With loss, duplication, reordering, late joins and early leaves.
    #[test]
    fn accounts_equal_those_of_an_oracle(users in users()) {
        prop_assert_eq!(counted(&users), expected(&users));
    }
}

#[test]
fn a_number_under_way_when_a_user_leaves_is_not_lost() {
    let got = |numbers: &[u64]| numbers.iter().map(|&n| (n * S, n)).collect::<Vec<_>>();
    let users = |closed_ns| {
        [
            User { ready_ns: 0, closed_ns: 90 * S, got: got(&[4, 5, 6]) },
            User { ready_ns: 0, closed_ns, got: got(&[4, 5]) },
        ]
    };
    let grace_ns = u64::from(GRACE_SLOTS) * SLOT_NS;
    assert_eq!(counted(&users(6 * S + grace_ns)).lost, 0);
    assert_eq!(counted(&users(6 * S + grace_ns + SLOT_NS)).lost, 1);
}
