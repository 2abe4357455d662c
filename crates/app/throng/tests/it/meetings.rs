//! What users share, on real sockets: loops of one process, and workers.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use record::Run;
use record::schema::EventKind;

use crate::support::{Ended, Space, server};

/// Paths that were requested, in the order in which they came.
type Paths = Arc<Mutex<Vec<String>>>;

fn application(seen: &Paths) -> String {
    let seen = Arc::clone(seen);
    let address = server(move |stream| serve(stream, &seen));
    format!("http://{address}/")
}

fn serve(mut stream: TcpStream, seen: &Paths) -> io::Result<()> {
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        seen.lock().unwrap().push(path);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
    }
}

/// Sixteen users, eight of each loop.
fn scenario(target: &str, users: u64) -> String {
    format!(
        "
name: meeting
target: {target}
options: {{ loops: 2, drain: 10s }}
shared: {{ rendezvous: {{ sale: {users} }}, counters: {{ numbers: }}, queues: {{ unpaid: 100 }} }}
sessions:
  main:
    - rendezvous: sale
      timeout: 10s
    - next: {{ number: numbers }}
    - get: /number/${{number}}
      as: number
    - enqueue: unpaid
      value: \"${{number}}\"
    - dequeue: unpaid
      save: other
      timeout: 10s
    - get: /pay/${{other}}
      as: pay
arrivals: [ {{ constant: 40/s, for: 400ms }} ]
thresholds:
  - errors == 0
  - errors(\"rendezvous sale\") == 0
  - errors(\"dequeue unpaid\") == 0
  - count(pay) == 16
"
    )
}

/// The numbers in paths below this one, sorted.
fn numbers(seen: &Paths, below: &str) -> Vec<u64> {
    let seen = seen.lock().unwrap();
    let found = seen.iter().filter_map(|path| path.strip_prefix(below));
    let mut numbers: Vec<u64> = found.map(|number| number.parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

/// How many operations of a measure were due at one moment, by loop.
fn due_together(run: &Run, measure: &str) -> Vec<BTreeMap<u16, u64>> {
    let mut moments: BTreeMap<u64, BTreeMap<u16, u64>> = BTreeMap::new();
    let place = run.info().measures.iter().position(|m| m.name == measure);
    run.requests(|rows| {
        for row in rows {
            if Some(usize::from(row.measure)) == place {
                let loops = moments.entry(row.due_ns).or_default();
                *loops.entry(row.loop_id).or_default() += 1;
            }
        }
    })
    .unwrap();
    moments.into_values().collect()
}

fn notes(run: &Run) -> Vec<String> {
    let events = run.events().unwrap().into_iter();
    let notes = events.filter_map(|event| match event.what {
        EventKind::Note { text } => Some(text),
        _ => None,
    });
    notes.filter(|text| text.contains("worker")).collect()
}

#[test]
fn users_of_two_loops_meet_draw_numbers_and_hand_over_values() {
    let space = Space::new();
    let seen = Paths::default();
    let text = scenario(&application(&seen), 8);
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    assert_eq!(numbers(&seen, "/number/"), (1..=16).collect::<Vec<_>>());
    assert_eq!(numbers(&seen, "/pay/"), (1..=16).collect::<Vec<_>>());
    let run = space.only();
    for together in due_together(&run, "number") {
        assert_eq!(together.values().sum::<u64>(), 8, "{together:?}");
        assert_eq!(together.len(), 2, "users of both loops: {together:?}");
    }
    assert!(notes(&run).is_empty());
    let summary = space.summary();
    let sale = summary.measures.iter().find(|m| m.name == "rendezvous sale");
    let sale = sale.expect("the rendezvous is a measure");
    assert_eq!((sale.kind.as_str(), sale.count), ("meeting", 16));
}

#[test]
fn workers_divide_a_rendezvous_and_the_numbers_and_the_record_says_so() {
    let space = Space::new();
    let seen = Paths::default();
    let text = scenario(&application(&seen), 8);
    Ended::of(&mut space.run_text(&text, &["--workers", "2"])).with(0);
    assert_eq!(numbers(&seen, "/number/"), (1..=16).collect::<Vec<_>>());
    assert_eq!(numbers(&seen, "/pay/"), (1..=16).collect::<Vec<_>>());
    let run = space.only();
    for together in due_together(&run, "number") {
        assert_eq!(together.into_values().collect::<Vec<_>>(), [4]);
    }
    let notes = notes(&run);
    let met = "users of the rendezvous \"sale\" met within each worker: 4, 4 of the 8 users";
    assert!(notes.iter().any(|note| note == met), "{notes:?}");
    assert_eq!(notes.len(), 3, "{notes:?}");
}

#[test]
fn a_rendezvous_too_small_for_the_workers_is_refused() {
    let space = Space::new();
    let seen = Paths::default();
    let text = scenario(&application(&seen), 3);
    let ended = Ended::of(&mut space.run_text(&text, &["--workers", "2"]));
    ended.stderr_contains("give it more users, or the run fewer workers");
    assert_eq!(numbers(&seen, "/number/"), [0; 0]);
}

#[test]
fn one_user_alone_passes_a_rendezvous() {
    let space = Space::new();
    let seen = Paths::default();
    let file = space.file("meeting.yaml", &scenario(&application(&seen), 8));
    let file = file.display().to_string();
    let ended = Ended::of(&mut crate::support::throng(["try", file.as_str()])).with(0);
    ended.stdout_contains("rendezvous sale");
    assert_eq!(numbers(&seen, "/pay/"), [1]);
}

/// Counted by the application: on seven loops, and by three workers.
#[test]
fn rows_and_numbers_of_sessions_are_used_up_exactly() {
    for args in [&["--set", "options.loops=7"][..], &["--workers", "3"]] {
        let seen = Paths::default();
        let space = Space::new();
        let rows: Vec<String> = (0..100).map(|row| row.to_string()).collect();
        space.file("rows.csv", &format!("item\n{}\n", rows.join("\n")));
        let text = format!(
            "
target: {}
data: {{ rows: {{ file: rows.csv, order: once }} }}
sessions:
  buyer: [ {{ feed: rows }}, {{ get: '/row/${{item}}' }} ]
  visitor: [ {{ get: /visit }} ]
arrivals:
  - {{ users: 10, for: 3s, session: buyer }}
  - {{ users: 10, iterations: 500, for: 5s, session: visitor, name: together }}
  - {{ users: 10, iterations: 20 each, for: 1m, session: visitor, name: each }}
",
            application(&seen)
        );
        Ended::of(&mut space.run_text(&text, args)).with(0);
        let seen = seen.lock().unwrap();
        let taken = seen.iter().filter_map(|path| path.strip_prefix("/row/"));
        let mut taken: Vec<usize> = taken.map(|row| row.parse().unwrap()).collect();
        taken.sort_unstable();
        assert_eq!(taken, (0..100).collect::<Vec<_>>(), "{args:?}");
        assert_eq!(seen.iter().filter(|path| *path == "/visit").count(), 700, "{args:?}");
        let run = space.only();
        assert!(run.info().ended_ns < 30_000_000_000, "it did not wait for its time");
        let codes = space.summary().findings;
        assert!(codes.iter().all(|finding| finding.code != "sessions-not-begun"), "{codes:?}");
    }
}

/// Counted by the application: populations side by side, on seven loops and by three workers.
#[test]
fn populations_come_beside_each_other_exactly() {
    for args in [&["--set", "options.loops=7"][..], &["--workers", "3"]] {
        let seen = Paths::default();
        let space = Space::new();
        let text = format!(
            "
target: {}
sessions:
  visitor: [ {{ get: /visit, as: request }} ]
  buyer: [ {{ get: /buy, as: request }} ]
populations:
  visitors: {{ session: visitor, arrivals: [ {{ users: 10, iterations: 500, for: 1m }} ] }}
  more: {{ session: visitor, arrivals: [ {{ users: 3, iterations: 20 each, for: 1m }} ] }}
  buyers: {{ session: buyer, arrivals: [ {{ constant: 50/s, for: 1s }} ] }}
thresholds:
  - count(request, population=visitors) == 500
  - count(request, population=more) == 60
  - count(population=buyers) == 50
",
            application(&seen)
        );
        Ended::of(&mut space.run_text(&text, args)).with(0);
        let seen = seen.lock().unwrap();
        let count = |wanted: &str| seen.iter().filter(|path| *path == wanted).count();
        assert_eq!((count("/visit"), count("/buy")), (560, 50), "{args:?}");
        assert!(space.only().info().ended_ns < 30_000_000_000, "it did not wait for its time");
    }
}
