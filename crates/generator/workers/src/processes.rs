//! The workers of a run, which speak the protocol of `docs/worker-protocol.md`.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use driver::addresses::AddressBook;
use driver::real::{StopFlag, Zero};
use engine::addresses::Answers;
use machine::clock::monotonic_ns;
use plan::Plan;
use record::schema::{RowsKept, WorkerInfo, WorkerRows};

use super::adoption::Adoption;
use super::agent::{accept, resume};
use super::check::Check;
use super::clock::{Drift, Exchange, Offset};
use super::connection::NotReady;
use super::fleet::{Fleet, Rows};
use super::listener::{ConnectionAttempt, Listener};
use super::material::Material;
use super::process::{LostWorker, WorkerProcess, WorkersError};
use super::protocol::{Loops, Slice, ToWorker, Usage, plan_digest};
use super::report::ReportSenders;
use super::setup::LoopsSetup;
use crate::inputs::ScenarioText;

/// The time in which workers have to connect.
const CONNECT_NS_MAX: u64 = 30_000_000_000;
/// The longest wait for the reason of a process that has ended: it may just have been refused.
const REASON_NS_MAX: u64 = 500_000_000;
/// The interval at which clocks are compared. The best comparison of ten seconds counts.
const PING_NS: u64 = 2_000_000_000;
/// Bytes of the token of an agent's worker.
const TOKEN_BYTES: usize = 16;

/// A fleet whose agents share the loops of a run.
#[derive(Debug, Clone)]
pub struct FleetShares {
    pub fleet: Rc<dyn Fleet>,
    /// The loops of each agent.
    pub shares: Vec<Loops>,
}

/// The workers to start.
#[derive(Debug, Clone)]
pub struct SpawnRequest<'a> {
    /// Processes that share the loops.
    pub workers_count: u32,
    /// The agents that start them; `None`: they are processes that we start.
    pub fleet: Option<FleetShares>,
    /// The program that is started as `PROGRAM worker`.
    pub program: &'a Path,
    /// Throng's version.
    pub throng: &'a str,
    /// The scenario that each of them compiles.
    pub scenario: &'a ScenarioText,
}

/// The workers that another controller of a fleet has started.
#[derive(Debug, Clone, Copy)]
pub struct BegunWorkers<'a> {
    pub fleet: &'a Rc<dyn Fleet>,
    /// One of each agent.
    pub workers: &'a [BegunWorker],
    /// The zero on the clock of that controller, at which it let their loops begin or was about to.
    pub zero: Zero,
}

/// A worker that another controller has started.
#[derive(Debug, Clone, Copy)]
pub struct BegunWorker {
    pub loops: Loops,
    /// The offset of its clock to that controller's.
    pub offset: Offset,
}

/// The workers of a run. Their processes end when this is dropped.
#[derive(Debug)]
pub(super) struct Processes {
    workers: Vec<WorkerProcess>,
    /// The channels of reports and rows; `None` after the start.
    out: Option<ReportSenders>,
    stop: Arc<StopFlag>,
    /// The level of `stop` that was sent to the workers.
    sent_level: u8,
    /// True if the last message about it said that arrivals are paused; `None`: that is not known.
    sent_paused: Option<bool>,
    /// The addresses of names.
    addresses: Option<Arc<AddressBook>>,
    /// The version of the addresses that was sent to the workers.
    sent_version: u64,
    fleet: Option<Rc<dyn Fleet>>,
    /// The time at which clocks were last compared.
    pinged_ns: u64,
    /// The time since which our own side has been cut off from all workers.
    cut_off_ns: Option<u64>,
    /// The zero of another controller, which let their loops begin or was about to.
    first_zero: Option<Zero>,
}

impl Processes {
    /// Starts workers, and waits until all their loops are ready to begin.
    pub(super) fn prepare(
        plan: &Plan,
        setup: &LoopsSetup,
        request: &SpawnRequest<'_>,
        stop: &Arc<StopFlag>,
        out: ReportSenders,
    ) -> Result<Processes, WorkersError> {
        let of = request.workers_count as usize;
        let fail = |index: usize, error: NotReady| match &request.fleet {
            Some(shared) => WorkersError::Agent {
                agent: shared.fleet.agents()[index].name.clone(),
                why: error.to_string(),
            },
            None => WorkersError::NotReady { number: index + 1, of, why: error.to_string() },
        };
        let mut workers = match &request.fleet {
            Some(shared) => open(shared, setup, request, plan)?,
            None => spawn(request, plan, Loops::all(setup.layout.loops_count))?,
        };
        let digest = plan_digest(plan);
        for (index, worker) in workers.iter_mut().enumerate() {
            let slice = slice(setup, request, &digest, worker.loops());
            worker.send_slice(slice).map_err(|error| fail(index, error))?;
        }
        // All slices were sent before, so that workers compile and get ready at the same time.
        for (index, worker) in workers.iter_mut().enumerate() {
            worker.await_ready().map_err(|error| fail(index, error))?;
        }
        if let Some(shared) = &request.fleet {
            check_clocks(shared.fleet.as_ref(), &workers)?;
        }
        Ok(Processes {
            workers,
            out: Some(out),
            stop: Arc::clone(stop),
            sent_level: 0,
            sent_paused: Some(false),
            addresses: setup.addresses().cloned(),
            sent_version: 0,
            fleet: request.fleet.as_ref().map(|shared| Rc::clone(&shared.fleet)),
            pinged_ns: monotonic_ns(),
            cut_off_ns: None,
            first_zero: None,
        })
    }

    /// Workers that another controller has started.
    pub(super) fn resume(
        plan: &Plan,
        begun: &BegunWorkers<'_>,
        throng: &str,
        stop: &Arc<StopFlag>,
        out: ReportSenders,
    ) -> Result<Processes, WorkersError> {
        let fleet = begun.fleet;
        let silence_ns = fleet.tolerances().silence_ns;
        let agents = fleet.agents().iter().zip(begun.workers).enumerate();
        let workers = agents.map(|(index, (agent, begun))| {
            let fail = |why: String| WorkersError::Agent { agent: agent.name.clone(), why };
            let carrier = fleet.reopen(index).map_err(fail)?;
            let connection =
                resume(index, carrier, throng).map_err(|error| fail(error.to_string()))?;
            let connection = Box::new(connection);
            let loops = begun.loops;
            let mut worker =
                WorkerProcess::of_agent(&agent.name, silence_ns, connection, plan, loops);
            worker.set_offset(begun.offset);
            Ok(worker)
        });
        Ok(Processes {
            workers: workers.collect::<Result<_, WorkersError>>()?,
            out: Some(out),
            stop: Arc::clone(stop),
            sent_level: 0,
            // The other controller may have gone while arrivals were paused.
            sent_paused: None,
            addresses: None,
            sent_version: 0,
            fleet: Some(Rc::clone(fleet)),
            pinged_ns: monotonic_ns(),
            cut_off_ns: None,
            first_zero: Some(begun.zero),
        })
    }

    /// Lets the loops begin at `zero`; those of another controller have begun, or begin late.
    pub(super) fn start(&mut self, zero: Zero) {
        let Some(out) = self.out.take() else {
            return;
        };
        for (number, worker) in self.workers.iter_mut().enumerate() {
            // The offsets of clocks are to that of the controller which has measured them, and so is its zero.
            worker.start(number, self.first_zero.unwrap_or(zero), &out);
        }
    }

    /// Passes on that the run is to stop, its arrivals are to pause or names stand for other addresses, and drops
    /// workers that are silent. Returns what the user is to learn.
    pub(super) fn supervise(&mut self) -> Vec<String> {
        let level = self.stop.level();
        let paused = self.stop.is_paused();
        let now_ns = monotonic_ns();
        let mut notices: Vec<String> = self.check_own_side(now_ns).into_iter().collect();
        let addresses = self.changed_addresses();
        let pings = now_ns.saturating_sub(self.pinged_ns) >= PING_NS;
        if pings {
            self.pinged_ns = now_ns;
        }
        for worker in self.workers.iter_mut().filter(|worker| worker.is_running()) {
            if level > self.sent_level {
                worker.send(&ToWorker::Stop { level });
            }
            if self.sent_paused != Some(paused) {
                worker.send(&ToWorker::Pause { paused });
            }
            if let Some(addresses) = &addresses {
                worker.send(&ToWorker::Addresses(addresses.to_vec()));
            }
            if pings && self.cut_off_ns.is_none() {
                worker.ping();
            }
            notices.extend(worker.check_silence(now_ns));
        }
        self.sent_level = level;
        self.sent_paused = Some(paused);
        if let Some(fleet) = &self.fleet {
            notices.iter().for_each(|what| fleet.notify(what));
        }
        notices
    }

    /// While we are cut off nothing is known of workers; they continue. Returns what the user is to learn.
    fn check_own_side(&mut self, now_ns: u64) -> Option<String> {
        let fleet = self.fleet.as_ref()?;
        if !self.workers.iter().any(WorkerProcess::is_cut_off) {
            let since_ns = self.cut_off_ns.take()?;
            let away = units::duration(now_ns.saturating_sub(since_ns) as f64);
            return Some(format!("NATS is back after {away}"));
        }
        let is_new = self.cut_off_ns.is_none();
        let since_ns = *self.cut_off_ns.get_or_insert(now_ns);
        let max_ns = fleet.tolerances().silence_ns;
        let is_over = now_ns.saturating_sub(since_ns) > max_ns;
        for worker in self.workers.iter_mut().filter(|worker| worker.is_running()) {
            worker.excuse_silence();
            if is_over {
                let max = units::duration(max_ns as f64);
                worker.give_up(&format!("NATS was out of reach for {max}"));
            }
        }
        is_new.then(|| "NATS is out of reach; agents continue with their plan".to_owned())
    }

    /// Lets loops start users of lost ones.
    pub(super) fn adopt(&self, adoptions: &[Adoption]) {
        for worker in self.workers.iter().filter(|worker| worker.is_running()) {
            let numbers = worker.loops().numbers();
            let theirs = adoptions.iter().filter(|a| numbers.contains(&a.by));
            let theirs: Vec<Adoption> = theirs.cloned().collect();
            if !theirs.is_empty() {
                worker.send(&ToWorker::Adopt(theirs));
            }
        }
    }

    /// Notes that all intervals until `until_ns` are in the record.
    pub(super) fn mark_stored(&self, until_ns: u64) {
        for worker in &self.workers {
            worker.mark_stored(until_ns);
        }
    }

    /// The newest addresses, if they were not sent yet.
    fn changed_addresses(&mut self) -> Option<Arc<Answers>> {
        let book = self.addresses.as_ref()?;
        let version = book.version();
        (version != self.sent_version).then(|| {
            self.sent_version = version;
            book.newest()
        })
    }

    pub(super) fn mark_lost(&mut self, worker: usize, why: String) -> LostWorker {
        let lost = self.workers[worker].mark_lost(worker, why);
        if let Some(fleet) = &self.fleet {
            fleet.notify(&format!("worker {} is lost: {}", worker + 1, lost.why));
        }
        lost
    }

    pub(super) fn mark_done(&mut self, worker: usize) {
        self.workers[worker].mark_done();
    }

    pub(super) fn note_usage(&mut self, worker: usize, usage: Usage) {
        self.workers[worker].note_usage(usage);
    }

    /// CPU time of all workers since they began, and memory of those that run.
    pub(super) fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for usage in self.workers.iter().map(WorkerProcess::usage) {
            sum.cpu_ns = sum.cpu_ns.saturating_add(usage.cpu_ns);
            sum.resident_bytes = sum.resident_bytes.saturating_add(usage.resident_bytes);
        }
        sum
    }

    pub(super) fn note_clock(&mut self, worker: usize, exchange: Exchange) {
        self.workers[worker].note_clock(exchange);
    }

    /// The drift of the clock of each worker.
    pub(super) fn drifts(&self) -> Vec<Option<Drift>> {
        self.workers.iter().map(WorkerProcess::drift).collect()
    }

    pub(super) fn infos(&self) -> Vec<WorkerInfo> {
        let fleet = self.fleet.as_ref();
        let kept = fleet.and_then(|fleet| match fleet.rows() {
            Rows::Fetch => None,
            Rows::Leave => Some(WorkerRows::new(RowsKept::Agent, fleet.run())),
            Rows::None => Some(WorkerRows::new(RowsKept::Nowhere, fleet.run())),
        });
        let infos =
            self.workers.iter().map(|worker| WorkerInfo { rows: kept.clone(), ..worker.info() });
        infos.collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // All connections are closed before the end of any process is waited for.
        self.workers.iter().for_each(WorkerProcess::close);
    }
}

/// Lets the agents of a fleet start their workers, and waits until all have introduced themselves.
fn open(
    shared: &FleetShares,
    setup: &LoopsSetup,
    request: &SpawnRequest<'_>,
    plan: &Plan,
) -> Result<Vec<WorkerProcess>, WorkersError> {
    let fleet = shared.fleet.as_ref();
    let fail = |index: usize, why: String| WorkersError::Agent {
        agent: fleet.agents()[index].name.clone(),
        why,
    };
    let material = Material { scenario: request.scenario.clone(), trust: setup.trust.clone() };
    let material = material.to_bytes();
    let mut opened = Vec::new();
    for index in 0..fleet.agents().len() {
        let token = machine::secret(TOKEN_BYTES).map_err(WorkersError::Listen)?;
        let carrier = fleet.open(index, &token, &material).map_err(|why| fail(index, why))?;
        opened.push((token, carrier));
    }
    // All agents were asked before, so that workers start at the same time.
    let silence_ns = fleet.tolerances().silence_ns;
    let connected = opened.into_iter().enumerate().map(|(index, (token, carrier))| {
        let connection = accept(index, carrier, &token, request.throng);
        let connection = connection.map_err(|error| fail(index, error.to_string()))?;
        Ok(WorkerProcess::of_agent(
            &fleet.agents()[index].name,
            silence_ns,
            Box::new(connection),
            plan,
            shared.shares[index],
        ))
    });
    connected.collect()
}

fn check_clocks(fleet: &dyn Fleet, workers: &[WorkerProcess]) -> Result<(), WorkersError> {
    let max_ns = fleet.tolerances().clock_bound_ns;
    let bounds = workers.iter().map(|worker| worker.offset().bound_ns);
    for (bound_ns, agent) in bounds.zip(fleet.agents()) {
        if bound_ns > max_ns {
            let agent = agent.name.clone();
            return Err(WorkersError::Clock { agent, bound_ns, max_ns });
        }
    }
    Ok(())
}

/// Starts workers, each with a share of `all` loops of `plan`, and waits until all have connected.
fn spawn(
    request: &SpawnRequest<'_>,
    plan: &Plan,
    all: Loops,
) -> Result<Vec<WorkerProcess>, WorkersError> {
    let of = request.workers_count as usize;
    let mut listener = Listener::bind(of, request.throng).map_err(WorkersError::Listen)?;
    let address = listener.address().map_err(WorkersError::Listen)?;
    let mut workers = Vec::new();
    for index in 0..of {
        let loops = all.share(index as u32, request.workers_count);
        let token = listener.token(index);
        match WorkerProcess::spawn(request.program, address, &token, loops) {
            Ok(worker) => workers.push(worker),
            Err(source) => {
                workers.iter_mut().for_each(WorkerProcess::kill);
                let number = index + 1;
                return Err(WorkersError::Start { number, of, source });
            }
        }
    }
    let connected = await_connections(&mut listener, &mut workers, plan);
    connected.map_err(|(index, why)| {
        // The others are not waited for.
        workers.iter_mut().for_each(WorkerProcess::kill);
        WorkersError::NotReady { number: index + 1, of, why }
    })?;
    Ok(workers)
}

/// Waits until all workers have connected. The error names one that does not, and why.
fn await_connections(
    listener: &mut Listener,
    workers: &mut [WorkerProcess],
    plan: &Plan,
) -> Result<(), (usize, String)> {
    let begun_ns = monotonic_ns();
    let mut ended_ns = vec![None; workers.len()];
    while let Some(missing) = workers.iter().position(|worker| !worker.is_connected()) {
        match listener.accept() {
            Some(ConnectionAttempt::Worker(connection)) => {
                let worker = &mut workers[connection.index];
                let check = Check::new(plan, worker.loops());
                worker.connect(connection, check);
            }
            Some(ConnectionAttempt::Incompatible { index, why }) => return Err((index, why)),
            None => {}
        }
        let now_ns = monotonic_ns();
        for (index, worker) in workers.iter_mut().enumerate() {
            if worker.is_connected() {
                continue;
            }
            let Some(status) = worker.wait(Duration::ZERO) else {
                continue;
            };
            if now_ns - *ended_ns[index].get_or_insert(now_ns) > REASON_NS_MAX {
                return Err((index, format!("its process ended ({status})")));
            }
        }
        if now_ns - begun_ns > CONNECT_NS_MAX {
            let seconds = CONNECT_NS_MAX / 1_000_000_000;
            return Err((missing, format!("it did not connect within {seconds} s")));
        }
    }
    Ok(())
}

fn slice(setup: &LoopsSetup, request: &SpawnRequest<'_>, plan_digest: &str, loops: Loops) -> Slice {
    let (scenario, trust) = match &request.fleet {
        // Agents have the material already, and NATS would keep what is sent to them.
        Some(_) => (ScenarioText::default(), None),
        None => (request.scenario.clone(), setup.trust.clone()),
    };
    Slice {
        scenario,
        plan_digest: plan_digest.to_owned(),
        target: setup.target,
        addresses: setup.addresses().map_or_else(Answers::new, |book| book.first().to_vec()),
        trust,
        loops,
        wide: setup.is_wide(),
        sources: setup.sources.clone(),
        users_max: setup.layout.users_max,
        contact_ns_max: request
            .fleet
            .as_ref()
            .and_then(|shared| shared.fleet.tolerances().contact_ns_max()),
        rows: request.fleet.as_ref().map_or(Rows::Fetch, |shared| shared.fleet.rows()),
    }
}

#[cfg(test)]
mod tests;
