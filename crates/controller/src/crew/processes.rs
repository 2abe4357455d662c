//! Loops in worker processes, started here and spoken to by the protocol of `worker`.

use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};
use std::time::Duration;

use engine::driver::real::{StopFlag, Zero, monotonic_ns};
use plan::Plan;
use record::Measurement;
use record::schema::WorkerInfo;

use super::hire::{Employee, hire};
use super::{Hiring, Loss, News};
use crate::prepare::Preparation;
use crate::worker::check::Check;
use crate::worker::clock::Offset;
use crate::worker::door::Guest;
use crate::worker::link::{Candidate, Link, NotReady};
use crate::worker::protocol::{Loops, Slice, ToWorker, Usage, plan_digest};

/// A worker that tells nothing for so long is lost: ten seconds beyond the second in which it should
/// have told of itself.
const SILENCE_NS_MAX: u64 = 11_000_000_000;
/// How long the end of a worker whose connection broke is waited for, to learn how it ended.
const DEATH_MAX: Duration = Duration::from_millis(200);

/// Why there are no workers to conduct.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    #[error("cannot listen for workers")]
    Listen(#[source] std::io::Error),
    #[error("cannot start worker {number} of {of}")]
    Start {
        number: usize,
        of: usize,
        #[source]
        source: std::io::Error,
    },
    #[error("worker {number} of {of} did not get ready: {why}")]
    NotReady {
        number: usize,
        of: usize,
        why: String,
    },
}

/// The workers of a run. Their processes end when this is dropped.
#[derive(Debug)]
pub(crate) struct Processes {
    members: Vec<Member>,
    /// Where news and rows go; `None` once they have begun.
    out: Option<(Sender<News>, SyncSender<Vec<Measurement>>)>,
    stop: Arc<StopFlag>,
    /// The level of `stop` that they were told of.
    told_level: u8,
    /// Whether they were told last that arrivals are paused.
    told_paused: bool,
}

#[derive(Debug)]
struct Member {
    link: Arc<Link>,
    /// Until it has begun.
    candidate: Option<(Candidate, Check)>,
    employee: Employee,
    loops: Loops,
    files_per_loop: u64,
    cores: u32,
    throng: String,
    offset: Offset,
    usage: Usage,
    /// Neither done nor lost.
    at_work: bool,
    /// Why we gave it up, where it was us.
    given_up: Option<String>,
}

impl Processes {
    /// Starts workers, and waits until all their loops are ready to begin.
    pub(crate) fn gather(
        plan: &Plan,
        preparation: &Preparation,
        hiring: Hiring<'_>,
        stop: &Arc<StopFlag>,
        out: (Sender<News>, SyncSender<Vec<Measurement>>),
    ) -> Result<Processes, WorkersError> {
        let of = hiring.workers_count;
        let fail = |index: usize, error: NotReady| WorkersError::NotReady {
            number: index + 1,
            of: of as usize,
            why: error.to_string(),
        };
        let all = Loops::all(preparation.layout.loops_count);
        let digest = plan_digest(plan);
        let mut members = Vec::new();
        for (index, (guest, employee)) in hire(hiring)?.into_iter().enumerate() {
            let loops = all.share(index as u32, of);
            let slice = slice(preparation, hiring, &digest, loops);
            let member = Member::begin(guest, employee, slice, Check::new(plan, loops));
            members.push(member.map_err(|error| fail(index, error))?);
        }
        // They compile and get ready side by side.
        for (index, member) in members.iter_mut().enumerate() {
            member.await_ready().map_err(|error| fail(index, error))?;
        }
        Ok(Processes {
            members,
            out: Some(out),
            stop: Arc::clone(stop),
            told_level: 0,
            told_paused: false,
        })
    }

    /// Lets the loops begin at `zero`. One that cannot be told is lost, which its listener notes.
    pub(crate) fn open(&mut self, zero: Zero) {
        let Some((news, rows)) = self.out.take() else {
            return;
        };
        for (worker, member) in self.members.iter_mut().enumerate() {
            let Some((candidate, check)) = member.candidate.take() else {
                continue;
            };
            let _ = member.link.send(&ToWorker::Start {
                clock_ns: member.offset.theirs(zero.monotonic_ns),
                unix_ns: zero.unix_ns,
            });
            let (news, rows) = (news.clone(), rows.clone());
            std::thread::spawn(move || candidate.listen(worker, check, &news, &rows));
        }
    }

    /// Passes on that the run is to stop, or its arrivals to pause, and gives up those that are silent.
    pub(crate) fn tend(&mut self) {
        let (level, paused) = (self.stop.level(), self.stop.is_paused());
        let now_ns = monotonic_ns();
        for member in self.members.iter_mut().filter(|member| member.at_work) {
            if level > self.told_level {
                // As above.
                let _ = member.link.send(&ToWorker::Stop { level });
            }
            if paused != self.told_paused {
                let _ = member.link.send(&ToWorker::Pause { paused });
            }
            let silent_ns = now_ns.saturating_sub(member.link.heard_ns());
            if silent_ns > SILENCE_NS_MAX && member.given_up.is_none() {
                let seconds = silent_ns / 1_000_000_000;
                member.given_up = Some(format!("it was silent for {seconds} s"));
                member.link.cut();
            }
        }
        (self.told_level, self.told_paused) = (level, paused);
    }

    /// The worker is lost; its process is ended where it still runs.
    pub(crate) fn lose(&mut self, worker: usize, why: String) -> Loss {
        let member = &mut self.members[worker];
        member.at_work = false;
        let why = match (member.given_up.take(), member.employee.wait(DEATH_MAX)) {
            (Some(given_up), _) => given_up,
            (None, Some(status)) => format!("its process ended, {status}"),
            (None, None) => why,
        };
        member.link.cut();
        member.employee.kill();
        Loss {
            worker,
            pid: member.employee.pid(),
            loops: member.loops,
            why,
        }
    }

    /// The worker is done. It ends once we hang up.
    pub(crate) fn release(&mut self, worker: usize) {
        self.members[worker].at_work = false;
        self.members[worker].link.cut();
    }

    pub(crate) fn note_usage(&mut self, worker: usize, usage: Usage) {
        let known = &mut self.members[worker].usage;
        // A clock that went back would make a negative second.
        known.cpu_ns = known.cpu_ns.max(usage.cpu_ns);
        known.resident_bytes = usage.resident_bytes;
    }

    /// CPU time of all workers since they began, and memory of those at work.
    pub(crate) fn usage(&self) -> Usage {
        let at_work = self.members.iter().filter(|member| member.at_work);
        let resident = at_work.map(|member| member.usage.resident_bytes);
        let cpu = self.members.iter().map(|member| member.usage.cpu_ns);
        Usage {
            cpu_ns: cpu.fold(0, u64::saturating_add),
            resident_bytes: resident.fold(0, u64::saturating_add),
        }
    }

    pub(crate) fn infos(&self) -> Vec<WorkerInfo> {
        let infos = self.members.iter().map(|member| WorkerInfo {
            pid: member.employee.pid(),
            throng: member.throng.clone(),
            loops_first: member.loops.first,
            loops: member.loops.count,
            cores: member.cores,
            files_per_loop: member.files_per_loop,
            clock_offset_ns: member.offset.offset_ns,
            clock_bound_ns: member.offset.bound_ns,
            lost_at_ns: None,
        });
        infos.collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // All at once, before each is waited for.
        self.members.iter().for_each(|member| member.link.cut());
    }
}

impl Member {
    /// Gives a worker that came in its slice.
    fn begin(
        guest: Guest,
        employee: Employee,
        slice: Slice,
        check: Check,
    ) -> Result<Member, NotReady> {
        let introduction = guest.introduction.clone();
        let throng = guest.throng.clone();
        let loops = slice.loops;
        let candidate = Candidate::new(guest)?;
        candidate.link.send(&ToWorker::Slice(Box::new(slice)))?;
        Ok(Member {
            link: Arc::clone(&candidate.link),
            candidate: Some((candidate, check)),
            employee,
            loops,
            files_per_loop: introduction.files_per_loop,
            cores: introduction.cores,
            throng,
            offset: Offset::default(),
            usage: Usage::default(),
            at_work: true,
            given_up: None,
        })
    }

    fn await_ready(&mut self) -> Result<(), NotReady> {
        if let Some((candidate, _)) = &mut self.candidate {
            candidate.await_ready()?;
            self.offset = candidate.compare_clocks()?;
        }
        Ok(())
    }
}

fn slice(preparation: &Preparation, hiring: Hiring<'_>, plan_digest: &str, loops: Loops) -> Slice {
    Slice {
        scenario: hiring.scenario.clone(),
        plan_digest: plan_digest.to_owned(),
        target: preparation.target,
        addresses: preparation.addresses.clone(),
        trust: preparation.trust.clone(),
        loops,
        wide: preparation.is_wide(),
        sources: preparation.sources.clone(),
        users_max: preparation.layout.users_max,
    }
}
