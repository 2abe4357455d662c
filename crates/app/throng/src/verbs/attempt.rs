//! `throng try FILE`: run one user at once and show everything that it sends and receives.

mod body;
mod json;
mod text;

use std::io::Write;

use controller::{ScenarioText, TraceEvent, TracedEvent, TryRequest};
use plan::{MeasureId, MeasureKind, Plan, Session, SessionId, Slot};
use record::schema::SessionEnd;

use super::run::{failure, interrupt};
use crate::args::TryArgs;
use crate::exit::{Exit, Failure, written};
use crate::source::{self, CompiledScenario};
use crate::terminal;
use json::JsonView;
use text::TextView;

/// Shows events as they happen.
trait View {
    /// The text of an event; empty if it shows nothing.
    fn show(&mut self, plan: &Plan, traced: &TracedEvent) -> String;
    /// Text after the last event.
    fn end(&mut self) -> String;
}

pub(crate) fn attempt(args: &TryArgs) -> Result<Exit, Failure> {
    let text = source::scenario(&args.file, args.tsung.leniency())?;
    let overrides = [&text.sets[..], &args.sets.sets].concat();
    let CompiledScenario { plan, inputs } = source::compile(&text, &overrides)?;
    let session = session(&plan, args.session.as_deref())?;
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))?;
    let interrupt = interrupt()?;
    let scenario = ScenarioText { name: text.name, text: text.text, overrides, inputs };
    let mut view: Box<dyn View> = match args.json {
        true => Box::new(JsonView::default()),
        false => Box::new(TextView::new(args.user, args.full, terminal::style())),
    };
    let mut failed = false;
    let mut shown = Ok(Exit::Passed);
    let request = TryRequest {
        plan,
        scenario: &scenario,
        program: &program,
        session,
        user: args.user,
        steps_max: args.steps,
        time_max: args.time_limit,
        interrupt: &interrupt,
    };
    let conducted = controller::try_user(request, &mut |plan, traced| {
        failed |= is_failure(&traced.event);
        print(&mut shown, &view.show(plan, &traced));
    });
    print(&mut shown, &view.end());
    conducted.map_err(failure)?;
    shown?;
    Ok(match failed {
        true => Exit::Failed,
        false => Exit::Passed,
    })
}

/// Prints at once, unless printing has failed before.
fn print(shown: &mut Result<Exit, Failure>, text: &str) {
    if shown.is_ok() && !text.is_empty() {
        let mut out = std::io::stdout().lock();
        *shown = written(write!(out, "{text}").and_then(|()| out.flush()));
    }
}

/// The session of this name, or the one that most users run.
fn session(plan: &Plan, name: Option<&str>) -> Result<SessionId, Failure> {
    let sessions = (0..).map(SessionId).zip(&plan.sessions);
    let found = match name {
        Some(name) => {
            let is_called = |session: &Session| session.name == name;
            // One that several populations run is the same in each, but for tags: `read (browsers)`.
            let is_copy = |session: &Session| {
                session.name.strip_prefix(name).is_some_and(|rest| rest.starts_with(" ("))
            };
            let found = sessions.clone().find(|(_, session)| is_called(session));
            found.or_else(|| sessions.clone().find(|(_, session)| is_copy(session)))
        }
        // Of several with that weight the first.
        None => sessions.clone().min_by(|(_, a), (_, b)| b.weight.total_cmp(&a.weight)),
    };
    found.map(|(id, _)| id).ok_or_else(|| {
        let names: Vec<&str> = sessions.map(|(_, session)| session.name.as_str()).collect();
        Failure::hinted(
            Exit::Usage,
            format!("the scenario has no session {:?}", name.unwrap_or_default()),
            &format!("its sessions: {}", names.join(", ")),
        )
    })
}

/// Whether an event says that something of the scenario did not work.
fn is_failure(event: &TraceEvent) -> bool {
    match event {
        TraceEvent::Operation(row) => row.outcome.is_error(),
        TraceEvent::Checked { holds, .. } => !holds,
        TraceEvent::Error { outcome, .. } => outcome.is_error(),
        TraceEvent::Ended { end } => matches!(end, Some(SessionEnd::Failed | SessionEnd::Stopped)),
        TraceEvent::Retried { .. }
        | TraceEvent::Recorded { .. }
        | TraceEvent::Step { .. }
        | TraceEvent::Sent { .. }
        | TraceEvent::SentMessage { .. }
        | TraceEvent::Response { .. }
        | TraceEvent::Message { .. }
        | TraceEvent::Set { .. }
        | TraceEvent::Console { .. }
        | TraceEvent::Enough => false,
    }
}

fn measure_name(plan: &Plan, id: MeasureId) -> &str {
    plan.measures.get(id.index()).map_or("?", |measure| measure.name.as_str())
}

/// The name of a variable of this session.
fn variable_name(plan: &Plan, session: Option<SessionId>, slot: Slot) -> Option<&str> {
    let session = plan.sessions.get(session?.index())?;
    session.slot_names.get(slot.index()).map(String::as_str)
}

/// True for connections, redirects and transactions, which are no steps of their own.
fn is_aside(plan: &Plan, id: MeasureId) -> bool {
    let measure = plan.measures.get(id.index());
    measure.is_some_and(|m| {
        matches!(m.kind, MeasureKind::Connect | MeasureKind::Redirect | MeasureKind::Transaction)
    })
}

/// The end of a session, in words.
fn ending(end: Option<SessionEnd>) -> &'static str {
    match end {
        None => "finished",
        Some(SessionEnd::Failed) => "failed",
        Some(SessionEnd::Stopped) => "stopped by a limit of this machine",
        Some(SessionEnd::CutOff) => "was cut off",
    }
}
