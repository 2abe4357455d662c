//! Users of two loops who meet.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;

use driver::real::WaitMode;
use record::Outcome;

use crate::sockets::{run_loops_at, server};

/// Two threads: users of both are released together, and each value reaches one user, in whichever loop it waits.
#[test]
fn users_of_two_real_loops_meet() {
    let answer = |mut stream: TcpStream| {
        let mut input = [0; 4096];
        while stream.read(&mut input)? > 0 {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
        Ok(())
    };
    let text = "
name: meeting
target: http://127.0.0.1:80/
options: { drain: 30s }
shared: { rendezvous: { sale: 6 }, counters: { numbers: }, queues: { unpaid: } }
sessions:
  main:
    - rendezvous: sale
      timeout: 20s
    - get: /
      as: request
    - next: { number: numbers }
    - if: number <= 6
      then: [ { dequeue: unpaid, save: other, timeout: 20s } ]
      else: [ { enqueue: unpaid, value: \"${number}\" } ]
arrivals: [ { constant: 100/s, for: 120ms } ]
";
    for waiting in [WaitMode::Precise, WaitMode::Wide] {
        let ran = run_loops_at(server(answer), text, waiting, 2);
        ran.check_sums();
        let request = ran.rows("request");
        assert_eq!(request.len(), 12, "{waiting:?}");
        let mut moments = BTreeMap::<u64, BTreeSet<u16>>::new();
        for row in &request {
            moments.entry(row.due_ns).or_default().insert(row.loop_id);
        }
        let loops: Vec<usize> = moments.values().map(BTreeSet::len).collect();
        assert_eq!(loops, [2, 2], "{waiting:?}: {moments:?}");
        assert_eq!(ran.outcomes("dequeue unpaid"), [Outcome::Ok; 6], "{waiting:?}");
        assert_eq!(ran.outcomes("enqueue unpaid"), [Outcome::Ok; 6], "{waiting:?}");
    }
}
