//! Samples of failures: the request and the answer in words.

use plan::Op;
use plan::expr::{Expr, Template, TemplatePart, Value};

use crate::failures::{Answer, Code, without_query};
use crate::interpreter::Interpreter;
use crate::tables::slots::UserKey;

/// The mark in place of what is not shown.
const LEFT_OUT: char = '…';

impl Interpreter<'_> {
    /// Adds the request of an instruction, and its answer, to the sample that was just kept.
    pub(crate) fn complete_sample(
        &mut self,
        key: UserKey,
        op: Option<&Op>,
        answer: Option<Answer<'_>>,
    ) {
        let request = op.and_then(|op| self.request_line(key, op));
        let users = &self.users;
        let discreet = |text: String| users.discreet(key, text);
        self.recorder.failures.complete_sample(request, answer, discreet);
    }

    /// Does something whose failures have this number of a protocol as their detail.
    pub(crate) fn under<T>(&mut self, code: Code, act: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.recorder.failures.code.replace(code);
        let done = act(self);
        self.recorder.failures.code = before;
        done
    }

    /// Method and path of a request, without its query. What was computed for it is not computed again: it might come out
    /// otherwise.
    fn request_line(&self, key: UserKey, op: &Op) -> Option<String> {
        let (method, path) = match op {
            Op::Http(http) if http.by_script => {
                let asked = self.script_request(key)?;
                return Some(format!("{} {}", asked.method, without_query(&asked.url)));
            }
            Op::WsOpen(open) if open.by_script => {
                let asked = self.script_request(key)?;
                return Some(format!("GET {}", without_query(&asked.url)));
            }
            Op::Http(http) => (http.method.as_str(), &http.path),
            Op::WsOpen(open) => ("GET", &open.path),
            Op::SseOpen(open) => ("GET", &open.path),
            Op::Poll(poll) => ("GET", &poll.path),
            Op::CallOpen(open) => ("POST", &open.path),
            _ => return None,
        };
        if let (Op::Http(_), Some(hop)) = (op, self.follows.hop(key)) {
            let method = if hop.is_get { "GET" } else { method };
            return Some(format!("{method} {}", without_query(&hop.target)));
        }
        let path = self.shown_path(key, op, path);
        Some(format!("{method} {}", without_query(&path)))
    }

    fn shown_path(&self, key: UserKey, op: &Op, path: &Template) -> String {
        let user = &self.users[key];
        let mut shown = String::new();
        let mut push = |value: Option<&Value>| match value {
            Some(value) => shown.push_str(&value.to_text()),
            None => shown.push(LEFT_OUT),
        };
        for part in &path.parts {
            match part {
                TemplatePart::Text(text) => push(Some(&Value::Text(text.clone()))),
                TemplatePart::Expr(Expr::Shared(slot), _) => {
                    push(self.plan.shared.get(slot.index()));
                }
                // What the answer has set is not what was sent.
                TemplatePart::Expr(Expr::Var(slot), _)
                    if !op.saves().iter().any(|save| save.slot == *slot) =>
                {
                    push(user.slots.get(slot.index()));
                }
                TemplatePart::Bytes(_) | TemplatePart::Expr(..) => push(None),
            }
        }
        shown
    }
}
