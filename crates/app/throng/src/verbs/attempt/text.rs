//! The steps of a user as text.

use std::collections::BTreeMap;

use controller::{TraceEvent, TracedEvent};
use plan::expr::shown as value_text;
use plan::{Endpoint, Op, Plan, SessionId, Via};
use record::{Measurement, Outcome};
use report::{Style, visible};

use super::body::{self, BodyText};
use super::{View, ending, is_aside, measure_name, variable_name};

/// Colours of the terminal (ECMA-48 §8.3.117).
const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";

/// Prints each event below its step.
pub(super) struct TextView {
    user: u64,
    full: bool,
    style: Style,
    session: Option<SessionId>,
    /// Measured steps so far.
    steps: u64,
    /// Branch of the events shown now.
    branch: Option<usize>,
    /// The last step of each branch: its number and name.
    branches: BTreeMap<usize, (u64, String)>,
    /// A pause that is under way began then, and its line is open.
    paused_ns: Option<u64>,
    /// The condition that was false last: its error repeats it.
    was_false: bool,
    ended: bool,
}

impl TextView {
    pub(super) fn new(user: u64, full: bool, style: Style) -> TextView {
        TextView {
            user,
            full,
            style,
            session: None,
            steps: 0,
            branch: None,
            branches: BTreeMap::new(),
            paused_ns: None,
            was_false: false,
            ended: false,
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.style.colour {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    fn begin(&mut self, plan: &Plan, session: SessionId, pc: u32, at_ns: u64) -> String {
        let program = &plan.sessions[session.index()];
        let mut out = String::new();
        if std::mem::take(&mut self.ended) {
            // The next part: `setup`, the session, or `teardown`.
            (self.session, self.steps) = (None, 0);
            out.push('\n');
        }
        if self.session.is_none() {
            let first = &plan.endpoints[0];
            out += &format!(
                "user {} of session {:?}, target {}\n",
                self.user,
                program.name,
                target(plan, first)
            );
        }
        self.session = Some(session);
        let Some(op) = program.ops.get(pc as usize) else {
            return out;
        };
        if let Some(measure) = op.measure() {
            self.steps += 1;
            let name = measure_name(plan, measure);
            let head = match op.word() {
                word if name.starts_with(word) || matches!(op, Op::Http(_)) => name.to_owned(),
                word => format!("{word} {name}"),
            };
            let head = self.paint(BOLD, &visible(&head));
            let mut at = format!("at {}", units::duration(at_ns as f64));
            if let Some(branch) = self.branch {
                at = format!("branch {branch}, {at}");
                self.branches.insert(branch, (self.steps, head.clone()));
            }
            out += &format!("\n{:>3}  {head}  ({at})\n", self.steps);
        } else if matches!(op, Op::Think(_) | Op::ThinkFor(_) | Op::Pace { .. }) {
            self.paused_ns = Some(at_ns);
            out += &format!("\n     {}", op.word());
        }
        out
    }

    /// Names the step again if the next event is of another branch than the last one.
    fn change_branch(&mut self, traced: &TracedEvent) -> String {
        let before = std::mem::replace(&mut self.branch, traced.branch);
        let is_step = matches!(traced.event, TraceEvent::Step { .. });
        match traced.branch.filter(|_| before != traced.branch && !is_step) {
            Some(branch) => match self.branches.get(&branch) {
                Some((step, head)) => {
                    format!("\n{step:>3}  {head}  (branch {branch}, continued)\n")
                }
                None => format!("\n     (branch {branch})\n"),
            },
            None => String::new(),
        }
    }

    /// Ends the line of a pause. Its length is known once the next step begins.
    fn resume(&mut self, traced: &TracedEvent) -> String {
        let Some(since_ns) = self.paused_ns.take() else {
            return String::new();
        };
        match traced.event {
            _ if traced.branch != self.branch => "\n".to_owned(),
            TraceEvent::Step { .. } | TraceEvent::Enough | TraceEvent::Ended { .. } => {
                let length = units::duration(traced.at_ns.saturating_sub(since_ns) as f64);
                format!(" {length}\n")
            }
            _ => "\n".to_owned(),
        }
    }

    /// Lines behind a mark that says where they went.
    fn wire(&self, mark: char, lines: &[String]) -> String {
        let lines = lines.iter().map(|line| {
            let line = format!("{mark} {line}");
            format!("     {}\n", self.paint(DIM, line.trim_end()))
        });
        lines.collect()
    }

    fn note(&self, shown: &BodyText) -> String {
        match &shown.note {
            Some(note) => format!("     {}\n", self.paint(DIM, &format!("  ({note})"))),
            None => String::new(),
        }
    }

    fn body(&self, mark: char, bytes: &[u8], len: usize, encoding: Option<&str>) -> String {
        let shown = body::shown(bytes, len, encoding, self.full);
        self.wire(mark, &shown.lines) + &self.note(&shown)
    }

    /// A head in its lines, and an empty one if a body follows.
    fn head(&self, mark: char, head: &[u8], has_body: bool) -> String {
        let text = visible(&String::from_utf8_lossy(head).replace("\r\n", "\n"));
        let mut lines: Vec<String> = text.trim_end().lines().map(str::to_owned).collect();
        if has_body {
            lines.push(String::new());
        }
        self.wire(mark, &lines)
    }

    fn sent(&self, bytes: &[u8], len: usize) -> String {
        let Some(end) = head_end(bytes) else {
            return self.body('>', bytes, len, None);
        };
        let (head, rest) = bytes.split_at(end);
        let mut out = self.head('>', head, !rest.is_empty());
        if !rest.is_empty() {
            out += &self.body('>', rest, len - end, header(head, "content-encoding").as_deref());
        }
        out
    }

    fn response(&self, head: &[u8], bytes: &[u8], len: usize) -> String {
        let mut out = self.head('<', head, len > 0);
        if len > 0 {
            let encoding = header(head, "content-encoding");
            out += &self.body('<', bytes, len, encoding.as_deref());
        }
        out
    }

    fn operation(&self, plan: &Plan, row: &Measurement) -> String {
        let id = plan::MeasureId(row.measure);
        let took = units::duration(row.service_ns() as f64);
        let status =
            if row.status > 0 { format!(", status {}", row.status) } else { String::new() };
        let (word, colour) = match row.outcome {
            Outcome::Ok => ("ok".to_owned(), GREEN),
            outcome => (format!("failed ({})", outcome.name()), RED),
        };
        let prefix = match is_aside(plan, id) {
            true => format!("{}: ", visible(measure_name(plan, id))),
            false => String::new(),
        };
        format!("     {prefix}{}{status}, {took}\n", self.paint(colour, &word))
    }

    fn checked(&mut self, holds: bool, text: &str) -> String {
        self.was_false = !holds;
        let colour = if holds { GREEN } else { RED };
        let check = self.paint(colour, "check");
        format!("     {check} {}\n", visible(text))
    }
}

impl View for TextView {
    fn show(&mut self, plan: &Plan, traced: &TracedEvent) -> String {
        let resumed = self.resume(traced);
        let changed = self.change_branch(traced);
        resumed
            + &changed
            + &match &traced.event {
                TraceEvent::Step { session, pc } => self.begin(plan, *session, *pc, traced.at_ns),
                TraceEvent::Sent { bytes, len, .. } => self.sent(bytes, *len),
                TraceEvent::SentMessage { bytes, len } => self.body('>', bytes, *len, None),
                TraceEvent::Response { head, body, len } => self.response(head, body, *len),
                TraceEvent::Message { event, bytes, len } => {
                    let event = event.as_deref().filter(|name| !name.is_empty());
                    let name = event.map(|name| vec![format!("event: {}", visible(name))]);
                    self.wire('<', &name.unwrap_or_default()) + &self.body('<', bytes, *len, None)
                }
                TraceEvent::Set { slot, value } => {
                    let name = variable_name(plan, self.session, *slot).unwrap_or("?");
                    format!("     {name} = {}\n", visible(&value_text(value)))
                }
                TraceEvent::Recorded { metric, value } => {
                    let metric = plan.metrics.get(metric.index());
                    let name = metric.map_or("?", |metric| metric.name.as_str());
                    let unit = metric.map_or("", |metric| metric.unit.as_str());
                    let text = format!("{name}: {value} {unit}");
                    format!("     metric {}\n", visible(text.trim_end()))
                }
                TraceEvent::Console { text } => {
                    let lines =
                        text.lines().map(|line| format!("     console: {}\n", visible(line)));
                    lines.collect()
                }
                TraceEvent::Checked { holds, text } => self.checked(*holds, text),
                TraceEvent::Operation(row) => self.operation(plan, row),
                TraceEvent::Retried { measure, attempt, attempts_max, outcome, pause_ns } => {
                    let name = visible(measure_name(plan, *measure));
                    let why = outcome.name();
                    let pause = units::duration(*pause_ns as f64);
                    let next = format!("attempt {attempt} of {attempts_max} failed ({why})");
                    format!("     {name}: {next}, the next in {pause}\n")
                }
                TraceEvent::Error { outcome, detail, .. } => {
                    let repeats = *outcome == Outcome::Check && std::mem::take(&mut self.was_false);
                    match repeats {
                        true => String::new(),
                        false => format!("     {}\n", self.paint(RED, &visible(detail))),
                    }
                }
                TraceEvent::Enough => {
                    self.ended = true;
                    format!("\nstopped after {} (--steps)\n", units::counted(self.steps, "step"))
                }
                TraceEvent::Ended { end } => {
                    self.ended = true;
                    let at = units::duration(traced.at_ns as f64);
                    let steps = units::counted(self.steps, "step");
                    let ending = self.paint(BOLD, ending(*end));
                    format!("\nthe session {ending} after {steps}, {at}\n")
                }
            }
    }

    fn end(&mut self) -> String {
        match self.ended {
            true => String::new(),
            false => "\nthe session was cut off\n".to_owned(),
        }
    }
}

/// End of the head of an HTTP message, if the bytes begin with one.
fn head_end(bytes: &[u8]) -> Option<usize> {
    let line_end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let line = &bytes[..line_end];
    if !line.ends_with(b" HTTP/1.1") && !line.ends_with(b" HTTP/2") {
        return None;
    }
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(end + 4)
}

/// The value of a head's header; `name` in lower case.
pub(super) fn header(head: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().skip(1).filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(found, _)| found.trim().eq_ignore_ascii_case(name))?;
    Some(value.trim().to_owned())
}

/// An endpoint as people see it, and what leads there.
fn target(plan: &Plan, endpoint: &Endpoint) -> String {
    if let Via::Unix(path) = &endpoint.via {
        return format!("unix:{path}");
    }
    let scheme = if endpoint.tls { "https" } else { "http" };
    let host = &endpoint.host;
    let port = endpoint.port;
    format!("{scheme}://{host}:{port}{}", plan.detour(endpoint))
}
