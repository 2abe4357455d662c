//! One user at once, without a record, event by event.

use std::sync::Arc;
use std::time::Duration;

use engine::trace::{TraceEvent, TracedEvent};
use plan::{Plan, SessionId};
use record::schema::OnceEnd;
use workers::ScenarioText;

use super::certificates::read_trust;
use super::error::ConductError;
use super::once::{self, SoloLoop, SoloUser};
use crate::control::Interrupt;
use crate::secrets::Secrets;
use crate::target::TargetProcess;

/// A user to run.
#[derive(Debug)]
pub struct TryRequest<'a> {
    pub plan: Plan,
    /// The scenario that the plan was compiled from.
    pub scenario: &'a ScenarioText,
    /// The program of built-in targets.
    pub program: &'a std::path::Path,
    pub session: SessionId,
    /// The user's number, from 0.
    pub user: u64,
    /// Measured steps until it leaves.
    pub steps_max: u64,
    /// The longest time that it may take.
    pub time_max: Duration,
    pub interrupt: &'a Interrupt,
}

/// Runs one user and passes on its events as they happen, between those of `setup` and `teardown`, which are users of
/// plans of their own. Values of the environment and overrides that hold secrets are hidden as in a record.
pub fn try_user(
    request: TryRequest<'_>,
    on_event: &mut dyn FnMut(&Plan, TracedEvent),
) -> Result<(), ConductError> {
    let mut plan = request.plan;
    let folder = request.scenario.folder();
    let target = TargetProcess::of_plan(&mut plan, request.program, folder)?;
    let address = target.as_ref().map(|target| target.address);
    let mut setup = once::solo_setup(&plan, address)?;
    setup.trust = read_trust(&plan, folder)?;
    let secrets = Secrets::of_plan(request.scenario, &plan);
    let mut shown = |plan: &Plan, mut traced: TracedEvent| {
        hide(&secrets, &mut traced.event);
        on_event(plan, traced);
    };
    let mut solo = SoloLoop { setup: &setup, interrupt: Some(request.interrupt) };
    if let Some(setup) = plan.setup.as_deref() {
        let result = once::play(&plan, setup, &solo, &mut shown)?;
        if result.ended.end != OnceEnd::Finished {
            return Ok(());
        }
        plan.shared = result.values;
    }
    let time_max_ns = u64::try_from(request.time_max.as_nanos()).unwrap_or(u64::MAX);
    let mut own_plan = plan.clone();
    own_plan.without_crowd("try", time_max_ns);
    let own_plan = Arc::new(own_plan);
    let user =
        SoloUser { number: request.user, session: request.session, steps_max: request.steps_max };
    solo.run(&own_plan, user, &mut |traced| shown(&own_plan, traced))?;
    if let Some(teardown) = plan.teardown.as_deref() {
        // It removes what `setup` made, even if the end was requested.
        solo.interrupt = None;
        once::play(&plan, teardown, &solo, &mut shown)?;
    }
    Ok(())
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
        TraceEvent::Checked { text, .. }
        | TraceEvent::Console { text }
        | TraceEvent::Error { detail: text, .. } => {
            secrets.hide(text);
        }
        TraceEvent::Step { .. }
        | TraceEvent::Retried { .. }
        | TraceEvent::Recorded { .. }
        | TraceEvent::Operation(_)
        | TraceEvent::Enough
        | TraceEvent::Ended { .. } => {}
    }
}
