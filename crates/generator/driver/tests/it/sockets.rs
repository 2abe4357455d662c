//! The real driver on loopback: what real sockets do and made-up ones do not.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::time::Duration;

use driver::addresses::AddressBook;
use driver::real::{LoopNews, LoopSetup, StartBarrier, WaitMode, Zero, run_loop};
use engine::Setup;
use engine::meeting::{Meeting, RunPart};
use engine::schedule::share::Share;
use engine::sim::SimRun;
use machine::clock::monotonic_ns;
use record::Outcome;

use crate::support::{Ran, S, plan};

/// Plays `script` to every connection, each on a thread. Its errors are the client's doing.
pub(crate) fn server(
    script: impl Fn(TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let script = Arc::clone(&script);
            std::thread::spawn(move || script(stream));
        }
    });
    address
}

/// Runs a scenario's text on one loop, all endpoints of which are at `address`.
fn run_at(address: SocketAddr, text: &str, waiting: WaitMode) -> Ran {
    run_loops_at(address, text, waiting, 1)
}

/// The same on this number of loops.
pub(crate) fn run_loops_at(
    address: SocketAddr,
    text: &str,
    waiting: WaitMode,
    loops_count: u32,
) -> Ran {
    let plan = plan(text);
    let barrier = Arc::new(StartBarrier::default());
    let meeting = Arc::new(Meeting::new(&plan.meetings, RunPart::all(loops_count)));
    let setup = |index| LoopSetup {
        shard: Setup {
            share: Share::new(index, loops_count),
            rows_max: 64,
            tls: None,
            buffers: Arc::default(),
            meeting: Arc::clone(&meeting),
        },
        waiting,
        netns: None,
        addresses: Arc::new(AddressBook::of_addresses(&vec![address; plan.endpoints.len()])),
        sources: Arc::new([]),
        users_max: 10,
        core: None,
        barrier: Arc::clone(&barrier),
        stop: Arc::default(),
        trace: None,
    };
    let (rows, written) = sync_channel(1_000);
    let (news, received) = channel();
    std::thread::scope(|scope| {
        let loops = (0..loops_count).map(|index| {
            let setup = setup(index);
            let rows = rows.clone();
            let news = news.clone();
            let plan = &plan;
            scope.spawn(move || {
                run_loop(plan, &setup, &rows, &|report| {
                    let _ = news.send(report);
                })
            })
        });
        let loops: Vec<_> = loops.collect();
        assert!(barrier.await_loops(loops_count, Duration::from_secs(60)));
        barrier.open(Zero { monotonic_ns: monotonic_ns(), unix_ns: 0 });
        for ran in loops {
            ran.join().expect("no panic").expect("a loop that runs");
        }
    });
    drop((rows, news));
    let deltas = received.into_iter().filter_map(|report| match report {
        LoopNews::Delta(delta) => Some(*delta),
        _ => None,
    });
    let deltas: Vec<_> = deltas.collect();
    let run = SimRun {
        ended_ns: deltas.last().map_or(0, |delta| delta.end_ns),
        rows: written.into_iter().flatten().collect(),
        deltas,
        busy_ns: Vec::new(),
    };
    Ran { plan, run }
}

/// Bytes of a flood, which outlasts a run that goes its way.
const FLOOD_BYTES: usize = 256 << 20;

/// Answers requests; floods with lines any connection that sends something else.
fn answer_or_flood(mut stream: TcpStream) -> std::io::Result<()> {
    let mut input = [0; 1024];
    while stream.read(&mut input)? > 0 {
        if input.starts_with(b"GET") {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
            continue;
        }
        let lines = format!("{:>63}\n", "line").repeat(8 << 10);
        for _ in 0..FLOOD_BYTES / lines.len() {
            stream.write_all(lines.as_bytes())?;
        }
    }
    Ok(())
}

/// One user is sent more than can be decoded; the other one's requests continue, and the run ends.
#[test]
fn a_flooding_peer_does_not_starve_other_connections() {
    let text = "
name: flood
target: http://127.0.0.1:80/
options: { drain: 1s }
sessions:
  hears:
    - tcp: 127.0.0.1:81
      framing: { delimiter: \"\\n\" }
    - send: go
    - think: 60s
  asking:
    - loop: 3
      steps: [ { get: /, as: request }, { think: 10ms } ]
arrivals:
  - { constant: 1/s, for: 1s, sessions: { hears: 1 } }
  - { constant: 1/s, for: 1s, sessions: { asking: 1 } }
  - { hold: 3s }
";
    for waiting in [WaitMode::Precise, WaitMode::Wide] {
        let ran = run_at(server(answer_or_flood), text, waiting);
        assert_eq!(ran.outcomes("request"), [Outcome::Ok; 3], "{waiting:?}");
        assert!(ran.total(|counts| counts.unmatched) > 10_000, "{waiting:?}");
        assert!(ran.run.ended_ns < 8 * S, "{} ns", ran.run.ended_ns);
    }
}

/// What is left for a later turn is not lost: the kernel reports it only once.
#[test]
fn all_of_a_burst_arrives_and_then_its_end() {
    const LINES: usize = 200_000;
    let burst = |mut stream: TcpStream| {
        stream.read_exact(&mut [0; b"go\n".len()])?;
        stream.write_all(format!("{:>63}\n", "line").repeat(LINES).as_bytes())
    };
    let text = "
name: burst
target: tcp://127.0.0.1:80
sessions:
  main:
    - tcp:
      framing: { delimiter: \"\\n\" }
    - send: go
    - think: 60s
arrivals: [ { constant: 1/s, for: 1s }, { hold: 29s, until: done } ]
";
    for waiting in [WaitMode::Precise, WaitMode::Wide] {
        let ran = run_at(server(burst), text, waiting);
        let lines = ran.total(|counts| counts.unmatched);
        assert_eq!(lines, LINES as u64, "{waiting:?}");
        assert_eq!(ran.counted("steps", Outcome::Closed), 1, "{waiting:?}");
    }
}
