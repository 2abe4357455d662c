//! Users that run alone, on a loop in this process. One in a plan of its own does the steps that run once: `setup`
//! before the users, `teardown` after them. It is traced; its measurements become one event of the record, so that they
//! are part of no figure of the run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use driver::real::{StopFlag, WaitMode};
use engine::trace::{TraceEvent, TraceRequest, TracedEvent};
use machine::loops::cores;
use plan::expr::Value;
use plan::{MeasureId, MeasureKind, Once, Pc, Plan, SessionId};
use record::Measurement;
use record::schema::{EventKind, OnceEnd, OnceEnded, OnceOperation, SessionEnd};
use workers::{Inputs, Layout, LoopsSetup, Pool, PoolEvent, Trust, rows_channel, with_causes};

use super::error::ConductError;
use super::network::Network;
use super::recording::zero_soon;
use crate::control::Interrupt;

/// Operations that are recorded.
const OPERATIONS_MAX: usize = 1000;
/// Bytes of text that the values of `setup` may take together. All workers get them.
const VALUES_BYTES_MAX: usize = 1 << 20;

/// The longest wait for the loop before the request to end is looked at.
const POLL: Duration = Duration::from_millis(20);

/// One loop, which has one user.
const SOLO: Layout = Layout { waiting: WaitMode::Wide, loops_count: 1, users_max: 1 };

/// The loop of a user that runs alone.
#[derive(Debug)]
pub(super) struct SoloLoop<'a> {
    /// The settings that it shares with the loops of the run.
    pub(super) setup: &'a LoopsSetup,
    /// The user's request to end it; `None`: only a second Ctrl-C does.
    pub(super) interrupt: Option<&'a Interrupt>,
}

/// The user that runs alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct SoloUser {
    /// The number of the user, from 0.
    pub(super) number: u64,
    pub(super) session: SessionId,
    /// Measured steps until it leaves.
    pub(super) steps_max: u64,
}

impl SoloLoop<'_> {
    /// Runs a user of `plan`, which starts nobody by itself.
    pub(super) fn run(
        &self,
        plan: &Arc<Plan>,
        user: SoloUser,
        on_event: &mut dyn FnMut(TracedEvent),
    ) -> Result<(), ConductError> {
        let (sink, events) = channel();
        let setup = LoopsSetup {
            target: self.setup.target,
            places: self.setup.places.iter().take(1).cloned().collect(),
            sources: self.setup.sources.clone(),
            trust: self.setup.trust.clone(),
            layout: SOLO,
            cores: self.setup.cores,
            trace: Some(TraceRequest {
                user: user.number,
                session: user.session,
                steps_max: user.steps_max,
                sink,
            }),
        };
        let stop = Arc::new(StopFlag::default());
        // The rows go nowhere.
        let (rows_in, rows) = rows_channel();
        let mut pool = Pool::prepare(plan, &setup, None, &stop, rows_in)?;
        pool.start(zero_soon(false));
        loop {
            let is_over = matches!(pool.receive(POLL), PoolEvent::Finished);
            rows.try_iter().for_each(drop);
            events.try_iter().for_each(&mut *on_event);
            if is_over {
                break;
            }
            if self.interrupt.is_some_and(Interrupt::is_requested) {
                stop.drain();
            }
        }
        Ok(pool.join()?)
    }
}

/// The settings of a loop of one user, for a plan whose target runs.
pub(super) fn solo_setup(
    plan: &Plan,
    target: Option<SocketAddr>,
) -> Result<LoopsSetup, ConductError> {
    Ok(LoopsSetup {
        target,
        places: Network::resolve(plan, &[None])?.places,
        sources: plan.options.source_addresses.clone(),
        trust: None,
        layout: SOLO,
        cores: cores(),
        trace: None,
    })
}

/// The result of steps that have run once.
#[derive(Debug)]
pub(super) struct OnceResult {
    pub(super) ended: OnceEnded,
    /// The values of their variables, by slot.
    pub(super) values: Vec<Value>,
}

/// Runs `setup`, if there is one, and lets all users have its values, in this process and in workers.
pub(super) fn set_up(
    plan: &mut Plan,
    inputs: &mut Inputs,
    loops: &LoopsSetup,
    interrupt: &Interrupt,
) -> Result<Option<OnceEnded>, ConductError> {
    let Some(setup) = plan.setup.as_deref() else {
        return Ok(None);
    };
    let solo = SoloLoop { setup: loops, interrupt: Some(interrupt) };
    let mut result = play(plan, setup, &solo, &mut |_, _| {})?;
    let bytes: usize = result.values.iter().map(|value| value.to_text().len()).sum();
    if bytes > VALUES_BYTES_MAX && result.ended.end == OnceEnd::Finished {
        result.ended.end = OnceEnd::Failed;
        result.ended.why = Some(format!(
            "its variables take {}, at most {} are shared with all users: save less of responses",
            units::bytes(bytes as u64),
            units::bytes(VALUES_BYTES_MAX as u64)
        ));
    }
    if result.ended.end == OnceEnd::Finished {
        inputs.keep_setup(&result.values);
        plan.shared = result.values;
    }
    Ok(Some(result.ended))
}

/// The settings of the loop that runs `teardown`.
#[derive(Debug)]
pub(super) enum TeardownLoop {
    /// The settings of the loops of the run.
    Known(LoopsSetup),
    /// Another controller prepared the run, so that names are resolved when `teardown` begins.
    OfFleet {
        /// The address of the built-in target.
        target: Option<SocketAddr>,
        trust: Option<Trust>,
    },
}

impl TeardownLoop {
    pub(super) fn setup(self, plan: &Plan) -> Result<LoopsSetup, ConductError> {
        match self {
            TeardownLoop::Known(setup) => Ok(setup),
            TeardownLoop::OfFleet { target, trust } => {
                Ok(LoopsSetup { trust, ..solo_setup(plan, target)? })
            }
        }
    }
}

/// Runs `teardown`, which nothing but its limit of time ends.
pub(super) fn tear_down(plan: &Plan, teardown: &Once, loops: &LoopsSetup) -> EventKind {
    let solo = SoloLoop { setup: loops, interrupt: None };
    let ended = play(plan, teardown, &solo, &mut |_, _| {}).map(|result| result.ended);
    EventKind::OnceEnded(
        ended.unwrap_or_else(|error| OnceEnded {
            why: Some(with_causes(&error)),
            ..began(teardown)
        }),
    )
}

/// Runs these steps and passes on their events.
pub(super) fn play(
    plan: &Plan,
    once: &Once,
    solo: &SoloLoop<'_>,
    on_event: &mut dyn FnMut(&Plan, TracedEvent),
) -> Result<OnceResult, ConductError> {
    let plan = Arc::new(plan.once(once));
    let mut observer = Observer::new(once);
    let user = SoloUser { number: 0, session: SessionId(0), steps_max: u64::MAX };
    solo.run(&plan, user, &mut |traced| {
        observer.note(&traced);
        on_event(&plan, traced);
    })?;
    let interrupted = solo.interrupt.is_some_and(Interrupt::is_requested);
    Ok(observer.finish(interrupted))
}

/// Steps of which nothing is known yet.
fn began(once: &Once) -> OnceEnded {
    OnceEnded {
        what: once.session.name.clone(),
        end: OnceEnd::Failed,
        step: None,
        why: None,
        took_ns: 0,
        errors: 0,
        operations: Vec::new(),
        operations_left_out: 0,
    }
}

/// Follows steps while they run.
struct Observer<'a> {
    once: &'a Once,
    ended: OnceEnded,
    values: Vec<Value>,
    /// The instruction that began last.
    at: Pc,
    /// The end of the session, and its reason if it is not the last step; `None`: it has not ended.
    end: Option<Option<SessionEnd>>,
    /// Attempts that were tried again.
    retried: u64,
}

impl<'a> Observer<'a> {
    fn new(once: &'a Once) -> Observer<'a> {
        Observer {
            once,
            ended: began(once),
            values: vec![Value::Nothing; usize::from(once.session.slots_count)],
            at: 0,
            end: None,
            retried: 0,
        }
    }

    fn note(&mut self, traced: &TracedEvent) {
        self.ended.took_ns = self.ended.took_ns.max(traced.at_ns);
        match &traced.event {
            TraceEvent::Step { pc, .. } => self.at = *pc,
            TraceEvent::Set { slot, value } => self.values[slot.index()] = value.clone(),
            TraceEvent::Operation(row) => self.note_operation(row),
            TraceEvent::Error { measure, outcome, detail } => {
                self.ended.step = Some(self.name(*measure));
                self.ended.why = Some(match detail.is_empty() {
                    true => outcome.name().to_owned(),
                    false => detail.clone(),
                });
            }
            TraceEvent::Checked { holds: false, .. } if self.is_check() => self.ended.errors += 1,
            TraceEvent::Retried { .. } => self.retried += 1,
            TraceEvent::Ended { end } => self.end = Some(*end),
            _ => {}
        }
    }

    /// True if the instruction is a check of its own.
    fn is_check(&self) -> bool {
        let op = self.once.session.ops.get(self.at as usize);
        matches!(op, Some(plan::Op::Check { .. } | plan::Op::RetryEnd { .. }))
    }

    fn note_operation(&mut self, row: &Measurement) {
        let measure = MeasureId(row.measure);
        let kind = self.once.measures.get(measure.index()).map(|m| m.kind);
        let is_step = !matches!(
            kind,
            Some(MeasureKind::Connect | MeasureKind::Redirect | MeasureKind::Transaction)
        );
        if row.outcome.is_error() && is_step {
            self.ended.errors += 1;
            self.ended.step = Some(self.name(measure));
            self.ended.why.get_or_insert_with(|| row.outcome.name().to_owned());
        }
        if self.ended.operations.len() >= OPERATIONS_MAX {
            self.ended.operations_left_out += 1;
            return;
        }
        self.ended.operations.push(OnceOperation {
            name: self.name(measure),
            due_ns: row.due_ns,
            sent_ns: row.sent_ns,
            done_ns: row.done_ns,
            outcome: row.outcome.name().to_owned(),
            status: row.status,
        });
    }

    fn name(&self, measure: MeasureId) -> String {
        let found = self.once.measures.get(measure.index());
        found.map_or_else(|| "?".to_owned(), |measure| measure.name.clone())
    }

    fn finish(mut self, interrupted: bool) -> OnceResult {
        let at = self.once.session.next_measure(self.at);
        let at = at.map(|measure| self.name(measure));
        let ended = &mut self.ended;
        ended.errors = ended.errors.saturating_sub(self.retried);
        ended.end = match self.end {
            Some(None) => OnceEnd::Finished,
            Some(Some(SessionEnd::Failed)) => OnceEnd::Failed,
            Some(Some(SessionEnd::Stopped)) => OnceEnd::Stopped,
            Some(Some(SessionEnd::CutOff)) | None if interrupted => OnceEnd::Interrupted,
            Some(Some(SessionEnd::CutOff)) | None => OnceEnd::TimeLimit,
        };
        match ended.end {
            OnceEnd::Finished if ended.errors == 0 => {
                ended.step = None;
                ended.why = None;
            }
            OnceEnd::TimeLimit | OnceEnd::Interrupted => {
                ended.why = None;
                ended.step = at;
            }
            _ => {}
        }
        OnceResult { ended: self.ended, values: self.values }
    }
}
