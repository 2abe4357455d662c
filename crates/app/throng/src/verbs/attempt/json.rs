//! The steps of a user as JSON, one object for each event.

use std::collections::BTreeMap;

use controller::{TraceEvent, TracedEvent};
use plan::expr::{Escape, Value as Variable};
use plan::{MeasureId, Plan, SessionId};
use serde_json::{Value, json};

use super::body::plain as text;
use super::text::header;
use super::{View, ending, measure_name, variable_name};

/// Prints each event as a line.
#[derive(Debug, Default)]
pub(super) struct JsonView {
    session: Option<SessionId>,
    /// Measured steps so far.
    steps: u64,
    /// The last step of each branch.
    branches: BTreeMap<usize, u64>,
}

impl View for JsonView {
    fn show(&mut self, plan: &Plan, traced: &TracedEvent) -> String {
        let mut object = json!({ "at_ns": traced.at_ns });
        let event = self.event(plan, &traced.event);
        if let (Some(object), Value::Object(event)) = (object.as_object_mut(), event) {
            object.extend(event);
            object.insert("step".to_owned(), self.step_of(traced).into());
            if let Some(branch) = traced.branch {
                object.insert("branch".to_owned(), branch.into());
            }
        }
        format!("{object}\n")
    }

    fn end(&mut self) -> String {
        String::new()
    }
}

impl JsonView {
    /// The number of the step that an event belongs to.
    fn step_of(&mut self, traced: &TracedEvent) -> u64 {
        let Some(branch) = traced.branch else {
            return self.steps;
        };
        if matches!(traced.event, TraceEvent::Step { .. }) {
            self.branches.insert(branch, self.steps);
        }
        let step = self.branches.get(&branch);
        step.copied().unwrap_or(self.steps)
    }

    fn step(&mut self, plan: &Plan, session: SessionId, pc: u32) -> Value {
        self.session = Some(session);
        let program = &plan.sessions[session.index()];
        let op = program.ops.get(pc as usize);
        let measure = op.and_then(plan::Op::measure);
        self.steps += u64::from(measure.is_some());
        json!({
            "event": "step",
            "session": program.name,
            "instruction": pc,
            "does": op.map(plan::Op::word),
            "name": measure.map(|id| measure_name(plan, id)),
        })
    }

    fn event(&mut self, plan: &Plan, event: &TraceEvent) -> Value {
        match event {
            TraceEvent::Step { session, pc } => self.step(plan, *session, *pc),
            TraceEvent::Sent { endpoint, bytes, len } => {
                let to = plan.endpoints.get(endpoint.index());
                let to = to.map(|to| format!("{}:{}", to.host, to.port));
                json!({ "event": "sent", "to": to, "bytes": len, "text": text(bytes, None) })
            }
            TraceEvent::SentMessage { bytes, len } => {
                json!({ "event": "sent_message", "bytes": len, "text": text(bytes, None) })
            }
            TraceEvent::Response { head, body, len } => {
                let encoding = header(head, "content-encoding");
                json!({
                    "event": "response",
                    "head": String::from_utf8_lossy(head),
                    "bytes": len,
                    "body": text(body, encoding.as_deref()),
                })
            }
            TraceEvent::Message { event, bytes, len } => json!({
                "event": "message",
                "name": event,
                "bytes": len,
                "text": text(bytes, None),
            }),
            TraceEvent::Set { slot, value } => {
                let name = variable_name(plan, self.session, *slot);
                json!({ "event": "set", "variable": name, "value": variable(value) })
            }
            TraceEvent::Recorded { metric, value } => {
                let metric = plan.metrics.get(metric.index());
                json!({
                    "event": "recorded",
                    "metric": metric.map(|metric| &metric.name),
                    "value": value.to_f64(),
                    "unit": metric.map(|metric| &metric.unit),
                })
            }
            TraceEvent::Console { text } => json!({ "event": "console", "text": text }),
            TraceEvent::Checked { holds, text } => {
                json!({ "event": "check", "holds": holds, "text": text })
            }
            TraceEvent::Operation(row) => json!({
                "event": "operation",
                "name": measure_name(plan, MeasureId(row.measure)),
                "outcome": row.outcome.name(),
                "status": row.status,
                "service_ns": row.service_ns(),
                "bytes_out": row.bytes_out,
                "bytes_in": row.bytes_in,
            }),
            TraceEvent::Retried { .. } => retried(plan, event),
            TraceEvent::Error { measure, outcome, detail } => json!({
                "event": "error",
                "name": measure_name(plan, *measure),
                "outcome": outcome.name(),
                "detail": detail,
            }),
            TraceEvent::Enough => json!({ "event": "stopped" }),
            TraceEvent::Ended { end } => json!({ "event": "ended", "how": ending(*end) }),
        }
    }
}

/// An attempt that failed and is tried again.
fn retried(plan: &Plan, event: &TraceEvent) -> Value {
    let TraceEvent::Retried { measure, attempt, attempts_max, outcome, pause_ns } = event else {
        return Value::Null;
    };
    json!({
        "event": "retry",
        "name": measure_name(plan, *measure),
        "attempt": attempt,
        "attempts_max": attempts_max,
        "outcome": outcome.name(),
        "pause_ns": pause_ns,
    })
}

fn variable(value: &Variable) -> Value {
    match value {
        Variable::Nothing => Value::Null,
        Variable::Bool(truth) => (*truth).into(),
        Variable::Int(int) => (*int).into(),
        Variable::Float(float) => (*float).into(),
        Variable::Text(text) => (&**text).into(),
        // Its text, unless a number of this program's JSON has all of its digits.
        Variable::Number(text) => match serde_json::from_str::<serde_json::Number>(text) {
            Ok(number)
                if plan::json::is_same_number(number.to_string().as_bytes(), text.as_bytes()) =>
            {
                number.into()
            }
            _ => (&**text).into(),
        },
        // As JSON of the scenario has them.
        Variable::Bytes(_) => {
            let mut json = Vec::new();
            value.write_escaped(Escape::Json, &mut json);
            serde_json::from_slice(&json).unwrap_or_default()
        }
    }
}
