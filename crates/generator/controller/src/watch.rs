//! Probes without a run: a directory with their values and nothing else.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use driver::real::Zero;
use machine::clock::{monotonic_ns, unix_ns};
use machine::host;
use machine::loops::cores;
use plan::probes::Probe;
use probe::{Clock, Pool, ProbeError, TargetLocation};
use record::schema::{
    Event, EventKind, FORMAT_VERSION, GeneratorInfo, PROBE_MODE, PhaseInfo, RunInfo, RunStatus,
};
use record::{EventsWriter, RecordError, RunDir, run_id};
use workers::{Inputs, hex_digest, with_causes};

use crate::control::Interrupt;
use crate::run::probing::ProbeThread;
use crate::secrets::Secrets;

/// The interval at which events are written and the end is checked.
const POLL: Duration = Duration::from_millis(100);
/// The name of such a directory.
const NAME: &str = "probe";

/// Which probes to record, and for how long.
#[derive(Debug)]
pub struct WatchRequest<'a> {
    pub probes: &'a [Probe],
    pub location: &'a TargetLocation,
    /// The text that the probes were read from.
    pub text: &'a str,
    /// The inputs of that text.
    pub inputs: &'a Inputs,
    /// The directory in which that of the probes is created.
    pub runs: &'a Path,
    /// Throng's version.
    pub version: &'a str,
    pub time: Duration,
    pub interrupt: &'a Interrupt,
}

/// Why the probes could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("cannot write the record")]
    Record(#[from] RecordError),
}

/// Records the values of the probes; returns the directory.
pub fn watch(request: &WatchRequest<'_>) -> Result<PathBuf, WatchError> {
    let zero = now();
    let pool = Pool::start(request.probes, request.location, Clock::at(0))?;
    let mut info = info(request, zero);
    let dir = RunDir::create(request.runs, &info, request.text)?;
    let secrets = Secrets::new(request.inputs);
    let mut events = dir.events()?;
    let mut probing = ProbeThread::start(pool, dir.probes(&info));
    let end_ns = zero.monotonic_ns + nanos(request.time);
    // Nothing is sent through this channel: waiting for it is a pause.
    let (_alive, pause) = mpsc::channel::<()>();
    while monotonic_ns() < end_ns && !request.interrupt.is_requested() {
        let left = Duration::from_nanos(end_ns.saturating_sub(monotonic_ns()));
        // The wait always ends by its timeout.
        let _ = pause.recv_timeout(POLL.min(left));
        write(&mut events, &secrets, probing.events())?;
    }
    let (events_left, finished) = probing.finish();
    write(&mut events, &secrets, events_left)?;
    info.ended_ns = monotonic_ns() - zero.monotonic_ns;
    info.status = match (&finished, request.interrupt.is_requested()) {
        (Err(_), _) => RunStatus::Failed,
        (Ok(()), true) => RunStatus::Interrupted,
        (Ok(()), false) => RunStatus::Complete,
    };
    let mut last = vec![EventKind::RunEnded { status: info.status }];
    if let Err(error) = &finished {
        let text = with_causes(error);
        last.insert(0, EventKind::Note { text });
    }
    let last = last.into_iter().map(|what| (info.ended_ns, what));
    write(&mut events, &secrets, last.collect())?;
    dir.update_info(&info)?;
    finished?;
    Ok(dir.path().to_owned())
}

fn write(
    events: &mut EventsWriter,
    secrets: &Secrets,
    new: Vec<(u64, EventKind)>,
) -> Result<(), RecordError> {
    for (at_ns, mut what) in new {
        secrets.hide_in_event(&mut what);
        events.write(&Event { at_ns, what })?;
    }
    Ok(())
}

fn now() -> Zero {
    Zero { monotonic_ns: monotonic_ns(), unix_ns: unix_ns() }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// For `run.json`: a run without users, in one phase.
fn info(request: &WatchRequest<'_>, zero: Zero) -> RunInfo {
    let entropy = (zero.unix_ns / 1_000 % 0x1_0000) as u16;
    RunInfo {
        format: FORMAT_VERSION,
        id: run_id(zero.unix_ns / 1_000_000_000, NAME, entropy),
        name: NAME.to_owned(),
        throng: request.version.to_owned(),
        status: RunStatus::Running,
        seed: 0,
        scenario_hash: hex_digest(request.text),
        overrides: Vec::new(),
        target: request.location.url.clone().unwrap_or_default(),
        started_unix_ns: zero.unix_ns,
        ended_ns: 0,
        clock: "CLOCK_MONOTONIC, zero tied to CLOCK_REALTIME once at the start".to_owned(),
        generator: GeneratorInfo {
            mode: PROBE_MODE.to_owned(),
            loops: 0,
            cores: cores(),
            files_per_loop: 0,
            lag_max_ns: 0,
        },
        workers: Vec::new(),
        regions: Vec::new(),
        host: host::facts(),
        measures: Vec::new(),
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: Vec::new(),
        phases: vec![PhaseInfo {
            name: NAME.to_owned(),
            kind: NAME.to_owned(),
            start_ns: 0,
            end_ns: nanos(request.time),
            users_planned: 0.0,
            sessions_planned: None,
            users_vary: false,
        }],
        tls_unverified: false,
    }
}
