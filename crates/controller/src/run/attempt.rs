//! One user at once, without a record: what it does, event by event.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use driver::real::{StopFlag, Waiting};
use engine::trace::{TraceEvent, TraceRequest, Traced};
use machine::loops::cores;
use plan::{Phase, PhaseKind, Plan, SessionId};
use workers::{Layout, Pool, PoolEvent, ScenarioText, rows_channel};

use super::error::ConductError;
use super::places::places;
use super::prepare::{folder_of, prepare, start_target};
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

/// Runs one user and passes on what it does, as it happens. Values of the environment and overrides that
/// hold secrets are hidden as in a record.
pub fn try_user(
    request: TryRequest<'_>,
    on_event: &mut dyn FnMut(&Plan, Traced),
) -> Result<(), ConductError> {
    let mut plan = alone(request.plan, request.time_max);
    let folder = folder_of(&request.scenario.name);
    let target = start_target(&mut plan, request.program, folder)?;
    let plan = Arc::new(plan);
    let layout = Layout {
        waiting: Waiting::Wide,
        loops_count: 1,
        users_max: 1,
    };
    let address = target.as_ref().map(|target| target.address);
    let (places, _) = places(&plan, &[None])?;
    let mut setup = prepare(&plan, address, (layout, places), (folder, cores()))?;
    let (sink, events) = channel();
    setup.trace = Some(TraceRequest {
        user: request.user,
        session: request.session,
        steps_max: request.steps_max,
        sink,
    });
    let stop = Arc::new(StopFlag::default());
    // The rows go nowhere.
    let (rows_in, rows) = rows_channel();
    let mut pool = Pool::prepare(&plan, &setup, None, &stop, rows_in)?;
    let secrets = Secrets::of_plan(request.scenario, &plan);
    pool.start(zero(false));
    loop {
        let is_over = matches!(pool.receive(POLL), PoolEvent::Finished);
        rows.try_iter().for_each(drop);
        for mut traced in events.try_iter() {
            hide(&secrets, &mut traced.event);
            on_event(&plan, traced);
        }
        if is_over {
            break;
        }
        if request.interrupt.is_requested() {
            stop.drain();
        }
    }
    Ok(pool.join()?)
}

/// The plan without its crowd: it starts nobody and ends with its only user, or when the time is up.
fn alone(mut plan: Plan, time_max: Duration) -> Plan {
    plan.phases = vec![Phase {
        name: "try".to_owned(),
        kind: PhaseKind::Hold,
        start_ns: 0,
        duration_ns: u64::try_from(time_max.as_nanos()).unwrap_or(u64::MAX),
        session: None,
        weights: None,
        users_max: None,
        until_done: true,
    }];
    plan.singles.clear();
    plan.options.drain_ns = 0;
    plan
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
