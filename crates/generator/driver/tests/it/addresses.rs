//! Names that come to stand for other addresses during a run (`options.dns`).

use std::net::SocketAddr;
use std::sync::Arc;

use driver::addresses::{AddressBook, Addresses};
use engine::addresses::Choice;
use engine::sim::{Link, Verdict};
use record::Outcome;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, Ran, S, plan, run_over};

/// When the first address dies, and when the name server's answer without it reaches the users.
const DIES_NS: u64 = 10 * S;
const CHANGES_NS: u64 = 14 * S;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([198, 18, 0, last], 80))
}

fn scenario(ignoring: &str) -> String {
    format!(
        "
target: http://api.test/
seed: 5
options: {{ dns: {{ ignore_ttl: {ignoring} }}, drain: 1s }}
sessions: {{ one: [ {{ get: /, as: page }} ] }}
arrivals: [ {{ constant: 50/s, for: 20s }} ]
"
    )
}

/// A run in which each user connects once.
fn dying(ignoring: &str) -> Ran {
    let book = Arc::new(AddressBook::of_addresses(&[address(1)]));
    let mut addresses = Addresses::new(&book);
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let link = Link {
        way: Box::new(move |now_ns, endpoint, choice| {
            if now_ns >= CHANGES_NS && book.version() == 0 {
                book.replace(vec![vec![vec![address(2)]]]);
            }
            match addresses.pick(endpoint, choice) == address(1) && now_ns >= DIES_NS {
                true => Verdict::Refuse,
                false => Verdict::Pass,
            }
        }),
        ..Link::new(MS)
    };
    run_over(&scenario(ignoring), &mut peer, link)
}

#[test]
fn users_are_served_again_once_the_answer_has_changed_unless_they_ignore_its_time() {
    for (ignoring, share) in [("0%", 0.0), ("20%", 0.2), ("50%", 0.5), ("100%", 1.0)] {
        let ran = dying(ignoring);
        let mut refused = 0;
        let mut after = 0;
        for row in ran.rows("page") {
            let keeps = Choice::of(5, row.user, share).keeps;
            let expected = match row.due_ns {
                due_ns if due_ns < DIES_NS => Outcome::Ok,
                due_ns if due_ns < CHANGES_NS || keeps => Outcome::Refused,
                _ => Outcome::Ok,
            };
            assert_eq!(row.outcome, expected, "{ignoring} {row:?}");
            after += u32::from(row.due_ns >= CHANGES_NS);
            refused += u32::from(row.due_ns >= CHANGES_NS && keeps);
        }
        // Of 300 users: three standard deviations are 26 at most.
        assert_eq!(after, 300);
        let expected = share * 300.0;
        assert!((f64::from(refused) - expected).abs() <= 26.0, "{ignoring}: {refused}");
    }
}

#[test]
fn users_that_ignore_ttls_are_the_same_for_any_number_of_loops() {
    let plan = plan(&scenario("30%"));
    let kept = |shards_count| {
        let mut keeping = Vec::new();
        let link = Link {
            way: Box::new(|_, _, choice: Choice| {
                keeping.push(choice.keeps);
                Verdict::Pass
            }),
            ..Link::new(MS)
        };
        let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
        engine::sim::run(&plan, shards_count, &mut peer, link).unwrap();
        keeping
    };
    let one = kept(1);
    assert_eq!(one.len(), 1_000);
    assert!(one.contains(&true) && one.contains(&false));
    assert_eq!(one, kept(3));
}
