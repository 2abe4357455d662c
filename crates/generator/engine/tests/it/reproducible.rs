//! The same seed plans the same users, whatever the number of shards.

use engine::schedule::arrivals::{Arrival, Arrivals};
use engine::schedule::share::Share;
use engine::sim::{self, Link};
use record::Measurement;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, plan};

const TEXT: &str = "
name: crowd
seed: 4711
target: http://target.test/
sessions:
  reader:
    weight: 3
    steps:
      - loop: 3
        steps:
          - think: { exponential: 200ms }
          - get: /page/${random(1, 1000)}/${user}
            as: read
  writer:
    weight: 1
    steps:
      - think: { lognormal: { median: 300ms, sigma: 0.5 } }
      - choose:
          - weight: 2
            steps: [ { post: /a, body: \"${random_string(20)}\", as: a } ]
          - weight: 1
            steps: [ { post: /b, body: \"${uuid()}\", as: b } ]
arrivals:
  - { poisson: 80/s, for: 10s }
  - { ramp: 10/s..90/s, for: 5s }
  - { hold: 5s }
";

/// Every record but for the loop that made it, and the requests as they were sent.
pub(crate) fn records(text: &str, shards: u32, seed: u64) -> (Vec<Measurement>, Vec<String>) {
    let mut plan = plan(text);
    plan.seed = seed;
    let mut peer = HttpPeer::new(|_| 5 * MS, |_| ok("ok"));
    let run = sim::run(&plan, shards, &mut peer, Link::new(MS)).expect("the plan can be run");
    let rows = run.rows.iter().map(|row| Measurement { loop_id: 0, ..*row });
    let rows = rows.collect();
    peer.requests.sort_unstable();
    (rows, peer.requests)
}

#[test]
fn one_two_and_four_loops_give_the_same_records() {
    let one = records(TEXT, 1, 4711);
    assert!(one.0.len() > 3_000, "only {} records", one.0.len());
    assert_eq!(one, records(TEXT, 2, 4711));
    assert_eq!(one, records(TEXT, 4, 4711));
}

#[test]
fn another_seed_gives_other_records() {
    assert_ne!(records(TEXT, 1, 4711), records(TEXT, 1, 4712));
}

/// A single shard skips no user: its starts are the reference for shares that skip others.
#[test]
fn the_shares_of_any_number_of_loops_add_up_to_all_starts() {
    let mut plan = plan(TEXT);
    plan.phases.extend(
        crate::support::plan(
            "
name: more
target: http://target.test/
sessions: { one: [ { get: / } ] }
arrivals:
  - { constant: 0.1/s, for: 12s }
  - { users: 17, for: 2s }
  - { constant: 33.3/s, for: 3s }
",
        )
        .phases,
    );
    let starts = |index, of| Arrivals::new(&plan, Share::new(index, of)).collect::<Vec<_>>();
    let all = starts(0, 1);
    assert!(all.len() > 1_100, "only {} starts", all.len());
    for of in [2, 3, 7, 100, 2_000] {
        for index in 0..of {
            let own = |arrival: &&Arrival| arrival.user % u64::from(of) == u64::from(index);
            let expected: Vec<_> = all.iter().filter(own).copied().collect();
            assert_eq!(starts(index, of), expected, "share {index} of {of}");
        }
    }
}

/// Regions divide the users of one process of arrivals; none starts twice, or at another time.
#[test]
fn regions_divide_the_users_of_a_plan() {
    let text = "target: http://h/\nregions: { north: 65, south: 35 }\n\
                sessions: { one: [ { get: / } ], two: [ { get: /b } ] }\n\
                arrivals:\n  - { constant: 30/s, for: 10s }\n  - { poisson: 20/s, for: 10s }\n  - { users: 40, for: 5s }\n";
    let plan = plan(text);
    let whole: Vec<Arrival> = Arrivals::new(&plan, Share::new(0, 1)).collect();
    for of in [2, 3, 7] {
        let shares = (0..of).map(|index| Share::of_loop(index, of, &plan.regions));
        let mut parts: Vec<Arrival> =
            shares.flat_map(|share| Arrivals::new(&plan, share)).collect();
        parts.sort_by_key(|arrival| arrival.user);
        assert_eq!(parts, whole, "{of} loops");
    }
}
