//! Arrivals that are closed while a run continues.

use engine::sim::Link;
use record::Outcome;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, S, run_over};

fn closing_at(at_ns: u64) -> Link<'static> {
    Link { arrivals_close_ns: at_ns, ..Link::new(0) }
}

#[test]
fn closed_arrivals_refuse_new_users_and_keep_present_ones() {
    let text = "
name: closing
target: http://target.test/
sessions:
  main:
    - get: /
      as: first
    - think: 5s
    - get: /
      as: second
arrivals:
  - { constant: 10/s, for: 2s }
  - { hold: 8s }
";
    // Users are due every 100 ms from 0 on; those before 650 ms are seven.
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let ran = run_over(text, &mut peer, closing_at(650 * MS));
    assert_eq!(ran.total(|counts| counts.users_started), 7);
    assert_eq!(ran.total(|counts| counts.users_refused), 13);
    assert_eq!(ran.total(|counts| counts.users_finished), 7);
    assert_eq!(ran.outcomes("second"), [Outcome::Ok; 7]);
    assert_eq!(ran.counted("connect", Outcome::NoMemory), 13);
    assert!(ran.details()[0].contains("memory ran short"), "{:?}", ran.details());
    // Each is refused when it falls due, so the last of them in the second second.
    let refused: Vec<u64> = ran.run.deltas.iter().map(|d| d.counts.users_refused).collect();
    assert_eq!(refused[..3], [3, 10, 0]);
    assert!(ran.run.ended_ns >= 10 * S, "the run continues to its end");
}

#[test]
fn a_present_closed_population_continues() {
    let text = "
name: closing
target: http://target.test/
sessions:
  main: [ { get: /, as: request }, { think: 1s } ]
arrivals:
  - { users: 5, for: 4s }
  - { users: 3, for: 4s }
";
    let mut peer = HttpPeer::new(|_| 0, |_| ok("ok"));
    let ran = run_over(text, &mut peer, closing_at(S / 2));
    assert_eq!(ran.total(|counts| counts.users_refused), 3);
    assert_eq!(ran.outcomes("request"), [Outcome::Ok; 20]);
}
