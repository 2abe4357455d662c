//! One user at once, without a record: what it does, event by event.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use driver::real::{StopFlag, Waiting};
use engine::trace::{TraceEvent, TraceRequest, Traced};
use machine::loops::cores;
use plan::{Plan, SessionId};
use record::schema::OnceEnd;
use workers::{Layout, LoopsSetup, Pool, PoolEvent, ScenarioText, rows_channel};

use super::error::ConductError;
use super::once;
use super::places::places;
use super::prepare::{prepare, start_target};
use super::zero;
use crate::control::Interrupt;
use crate::secrets::Secrets;

/// How long the loop is waited for before everything else is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Which user to run.
#[derive(Debug)]
pub struct TryRequest<'a> {
    pub plan: Plan,
    /// What the plan was compiled from.
    pub scenario: &'a ScenarioText,
    /// The program of built-in targets.
    pub program: &'a std::path::Path,
    pub session: SessionId,
    /// The user's number, from 0.
    pub user: u64,
    /// Measured steps until it leaves.
    pub steps_max: u64,
    /// How long it may take, at most.
    pub time_max: Duration,
    pub interrupt: &'a Interrupt,
}

/// Runs one user and passes on what it does, as it happens, between the steps of `setup` and `teardown`, which are users
/// of plans of their own. Values of the environment and overrides that hold secrets are hidden as in a record.
pub fn try_user(
    request: TryRequest<'_>,
    on_event: &mut dyn FnMut(&Plan, Traced),
) -> Result<(), ConductError> {
    let mut plan = request.plan;
    let folder = request.scenario.folder();
    let target = start_target(&mut plan, request.program, folder)?;
    let address = target.as_ref().map(|target| target.address);
    let (places, _) = places(&plan, &[None])?;
    let loops = prepare(&plan, address, (ALONE, places), (folder, cores()))?;
    let secrets = Secrets::of_plan(request.scenario, &plan);
    let mut shown = |plan: &Plan, mut traced: Traced| {
        hide(&secrets, &mut traced.event);
        on_event(plan, traced);
    };
    let mut alone = Alone {
        loops: &loops,
        interrupt: Some(request.interrupt),
    };
    if let Some(setup) = plan.setup.as_deref() {
        let played = once::play(&plan, setup, &alone, &mut shown)?;
        if played.ended.end != OnceEnd::Finished {
            return Ok(());
        }
        plan.shared = played.values;
    }
    let mut user = plan.clone();
    user.without_crowd(
        "try",
        u64::try_from(request.time_max.as_nanos()).unwrap_or(u64::MAX),
    );
    let user = Arc::new(user);
    let which = (request.user, request.session, request.steps_max);
    alone.run(&user, which, &mut |traced| shown(&user, traced))?;
    if let Some(teardown) = plan.teardown.as_deref() {
        // It removes what was made, also if the end was requested.
        alone.interrupt = None;
        once::play(&plan, teardown, &alone, &mut shown)?;
    }
    Ok(())
}

/// One loop, which has one user.
pub(super) const ALONE: Layout = Layout {
    waiting: Waiting::Wide,
    loops_count: 1,
    users_max: 1,
};

/// What one user needs that runs alone, besides its plan.
#[derive(Debug)]
pub(super) struct Alone<'a> {
    /// Of the run: what is common to all users.
    pub(super) loops: &'a LoopsSetup,
    /// What ends it; `None`: nothing but the second Ctrl-C.
    pub(super) interrupt: Option<&'a Interrupt>,
}

impl Alone<'_> {
    /// Runs the user of this number, session and number of steps, in a plan that starts nobody.
    pub(super) fn run(
        &self,
        plan: &Arc<Plan>,
        (user, session, steps_max): (u64, SessionId, u64),
        on_event: &mut dyn FnMut(Traced),
    ) -> Result<(), ConductError> {
        let (sink, events) = channel();
        let loops = LoopsSetup {
            target: self.loops.target,
            places: self.loops.places.iter().take(1).cloned().collect(),
            sources: self.loops.sources.clone(),
            trust: self.loops.trust.clone(),
            layout: ALONE,
            cores: self.loops.cores,
            trace: Some(TraceRequest {
                user,
                session,
                steps_max,
                sink,
            }),
        };
        let stop = Arc::new(StopFlag::default());
        // The rows go nowhere.
        let (rows_in, rows) = rows_channel();
        let mut pool = Pool::prepare(plan, &loops, None, &stop, rows_in)?;
        pool.start(zero(false));
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

/// Hides secrets in everything of an event that is text.
fn hide(secrets: &Secrets, event: &mut TraceEvent) {
    let in_bytes = |bytes: &mut Vec<u8>| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let mut text = text.to_owned();
            secrets.hide(&mut text);
            *bytes = text.into_bytes();
        }
    };
    match event {
        TraceEvent::Sent { bytes, .. }
        | TraceEvent::SentMessage { bytes, .. }
        | TraceEvent::Message { bytes, .. } => in_bytes(bytes),
        TraceEvent::Response { head, body, .. } => {
            in_bytes(head);
            in_bytes(body);
        }
        TraceEvent::Set { value, .. } => {
            let mut text = value.to_text().to_string();
            secrets.hide(&mut text);
            if *text != *value.to_text() {
                *value = plan::expr::Value::text(&text);
            }
        }
        TraceEvent::Checked { text, .. } | TraceEvent::Error { detail: text, .. } => {
            secrets.hide(text);
        }
        TraceEvent::Step { .. }
        | TraceEvent::Retried { .. }
        | TraceEvent::Operation(_)
        | TraceEvent::Enough
        | TraceEvent::Ended { .. } => {}
    }
}
