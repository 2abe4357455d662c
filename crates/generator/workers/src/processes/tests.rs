//! Workers that cannot be started, and those of a fleet.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel};

use driver::real::WaitMode;
use trust::Identity;

use super::*;
use crate::carrier::Carrier;
use crate::clock::EXCHANGES;
use crate::fleet::{Agent, Tolerances};
use crate::frame::{FrameReader, send};
use crate::inputs::Inputs;
use crate::layout::Layout;
use crate::protocol::{Hello, Introduction, MAGIC, PROTOCOL_VERSION, ToController, Trust};

fn plan() -> Plan {
    crate::testing::plan(
        "target: http://127.0.0.1:1\nsessions: { one: [ { get: / } ] }\n\
         arrivals: [ { constant: 1/s, for: 1s } ]\n",
    )
}

/// Why this program cannot be a worker.
fn spawn_error(program: &str) -> WorkersError {
    let scenario = ScenarioText {
        name: String::new(),
        text: String::new(),
        overrides: Vec::new(),
        inputs: Inputs::default(),
    };
    let request = SpawnRequest {
        workers_count: 2,
        fleet: None,
        program: Path::new(program),
        throng: "1.2.3",
        scenario: &scenario,
    };
    let spawned = spawn(&request, &plan(), Loops::all(2));
    spawned.map(drop).expect_err("it is no worker")
}

#[test]
fn a_missing_program_is_an_error() {
    let error = spawn_error("/nowhere/throng");
    assert!(matches!(error, WorkersError::Start { number: 1, of: 2, .. }));
}

#[test]
fn a_program_that_ends_at_once_is_an_error_with_its_exit_status() {
    let error = spawn_error("/bin/false").to_string();
    // Either may be the first to end.
    let (_, rest) = error.split_once(" of 2 ").unwrap_or_default();
    assert!(rest.starts_with("did not get ready: its process ended (exit"), "{error}");
}

/// The connection of a worker whose messages are known.
#[derive(Debug)]
struct Known {
    incoming: Mutex<VecDeque<u8>>,
    sent: Mutex<Vec<u8>>,
    is_closed: AtomicBool,
}

impl Carrier for Known {
    fn receive(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut incoming = self.incoming.lock().unwrap();
        if incoming.is_empty() && !self.is_closed.load(Ordering::Relaxed) {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        incoming.read(buffer)
    }

    fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.sent.lock().unwrap().extend(bytes);
        Ok(())
    }

    fn set_timeout(&self, _timeout: Duration) -> std::io::Result<()> {
        Ok(())
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

/// A fleet of one agent.
#[derive(Debug)]
struct OneAgent {
    agents: [Agent; 1],
    carrier: Arc<Known>,
    /// The material that its worker was to have from the store.
    material: RefCell<Vec<u8>>,
}

impl OneAgent {
    /// `incoming`: what its worker sends.
    fn new(incoming: Vec<u8>) -> OneAgent {
        OneAgent {
            agents: [Agent {
                name: "a1".to_owned(),
                cores: 1,
                files_per_loop: 1,
                holds: 1,
                holds_with_target: 1,
                ports: 1,
                is_here: true,
            }],
            carrier: Arc::new(Known {
                incoming: Mutex::new(incoming.into()),
                sent: Mutex::default(),
                is_closed: AtomicBool::new(false),
            }),
            material: RefCell::default(),
        }
    }

    /// The messages that were sent to the worker.
    fn sent(&self) -> Vec<ToWorker> {
        let sent = self.carrier.sent.lock().unwrap();
        let mut frames = FrameReader::new(&sent[..]);
        frames.trust();
        std::iter::from_fn(|| frames.next().ok()).collect()
    }
}

impl Fleet for OneAgent {
    fn run(&self) -> &'static str {
        "r1"
    }

    fn rows(&self) -> Rows {
        Rows::Fetch
    }

    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn tolerances(&self) -> Tolerances {
        Tolerances { clock_bound_ns: u64::MAX, silence_ns: u64::MAX, rebalances: false }
    }

    fn open(&self, _: usize, _: &str, material: &[u8]) -> Result<Arc<dyn Carrier>, String> {
        self.material.replace(material.to_vec());
        Ok(Arc::clone(&self.carrier) as _)
    }

    fn reopen(&self, _: usize) -> Result<Arc<dyn Carrier>, String> {
        Ok(Arc::clone(&self.carrier) as _)
    }

    fn keep(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn conclude(&self, _: &str) {}

    fn notify(&self, _: &str) {}
}

/// The messages of a worker that introduces itself and gets ready.
fn ready() -> Vec<u8> {
    let mut sent = Vec::new();
    let hello = Hello {
        magic: MAGIC,
        protocol: PROTOCOL_VERSION,
        throng: "1.2.3".to_owned(),
        token: "t".to_owned(),
    };
    send(&mut sent, &(hello, Introduction::default())).unwrap();
    send(&mut sent, &ToController::Ready).unwrap();
    for number in 0..EXCHANGES {
        let pong = ToController::Pong { number, clock_ns: 1 };
        send(&mut sent, &pong).unwrap();
    }
    sent
}

/// The controller may have been killed while arrivals were paused.
#[test]
fn workers_of_another_controller_learn_at_once_whether_arrivals_are_paused() {
    for paused in [false, true] {
        let fleet = Rc::new(OneAgent::new(ready()));
        let stop = Arc::new(StopFlag::default());
        stop.pause_arrivals(paused);
        let (reports, _reports) = channel();
        let (rows, _rows) = sync_channel(1);
        let zero = Zero { monotonic_ns: 1, unix_ns: 1 };
        let begun = BegunWorkers {
            fleet: &(Rc::clone(&fleet) as Rc<dyn Fleet>),
            workers: &[BegunWorker { loops: Loops::all(1), offset: Offset::default() }],
            zero,
        };
        let out = ReportSenders { reports, rows };
        let resumed = Processes::resume(&plan(), &begun, "1.2.3", &stop, out);
        let mut workers = resumed.unwrap();
        assert!(fleet.sent().is_empty(), "nothing before the start");
        workers.start(zero);
        for _ in 0..2 {
            workers.supervise();
        }
        let pauses = fleet.sent().into_iter().filter_map(|message| match message {
            ToWorker::Pause { paused } => Some(paused),
            _ => None,
        });
        assert_eq!(pauses.collect::<Vec<_>>(), [paused]);
    }
}

/// NATS keeps what is sent to agents, and it is not sealed.
#[test]
fn the_slices_of_a_fleet_have_no_key_and_no_scenario() {
    let key = b"private key".to_vec();
    let trust = Trust {
        verify: true,
        pems: Vec::new(),
        identity: Some(Identity {
            certificate: ("c".to_owned(), b"certificate".to_vec()),
            key: ("k".to_owned(), key.clone()),
        }),
    };
    let setup = LoopsSetup {
        target: None,
        places: Vec::new(),
        sources: Vec::new(),
        trust: Some(trust.clone()),
        layout: Layout { waiting: WaitMode::Wide, loops_count: 1, users_max: 1 },
        cores: 1,
        trace: None,
    };
    let scenario = ScenarioText { text: "secret text".to_owned(), ..ScenarioText::default() };
    let fleet = Rc::new(OneAgent::new(Vec::new()));
    let all = Loops::all(1);
    let request = |fleet: Option<Rc<dyn Fleet>>| SpawnRequest {
        workers_count: 1,
        fleet: fleet.map(|fleet| FleetShares { fleet, shares: vec![all] }),
        program: Path::new("none"),
        throng: "1.2.3",
        scenario: &scenario,
    };
    let has = |slice: Slice, text: &[u8]| {
        let mut bytes = Vec::new();
        send(&mut bytes, &ToWorker::Slice(Box::new(slice))).unwrap();
        bytes.windows(text.len()).any(|part| part == text)
    };
    for text in [&key[..], b"secret text"] {
        let of_fleet = request(Some(Rc::clone(&fleet) as _));
        assert!(!has(slice(&setup, &of_fleet, "d", all), text));
        let of_processes = request(None);
        assert!(has(slice(&setup, &of_processes, "d", all), text));
    }
    // The worker does not introduce itself; what it was to have is in the store.
    let of_fleet = request(Some(Rc::clone(&fleet) as _));
    fleet.carrier.close();
    let shared = of_fleet.fleet.as_ref().unwrap();
    let opened = open(shared, &setup, &of_fleet, &plan());
    assert!(opened.is_err());
    let material = Material::from_bytes(&fleet.material.borrow()).unwrap();
    assert_eq!(material.scenario, scenario);
    assert_eq!(material.trust, Some(trust));
}
