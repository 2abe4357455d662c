//! Sessions, and the steps in them.

use crate::keys::{Kind, SESSION, other_tools};
use plan::{Op, Session};
use stats::dist::Dist;

use super::fields::{may_stand_behind, misspelt};
use super::names::Names;
use super::populations::PopulationEntry;
use super::program::Program;
use super::steps::{STEPS, Step, step};
use super::{Checker, translation};
use crate::document::node::{Entry, Node};
use crate::document::suggest;
use crate::expression::expression;

impl Checker<'_> {
    pub(super) fn sessions(
        &mut self,
        node: &Node,
        populations: &mut [PopulationEntry<'_>],
    ) -> Vec<Session> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of session names");
            if node.sequence().is_some() {
                let hint = "name the list: `sessions: { visitor: [ { get: / }, … ] }`";
                self.diagnostics.last_hint(hint.to_owned());
            }
            return Vec::new();
        };
        if entries.is_empty() {
            self.diagnostics.error("empty", &node.place, "there is no session");
        }
        self.sessions_of(entries, populations)
    }

    pub(super) fn session(&mut self, entry: &Entry) -> Session {
        let mut program = Program::default();
        let mut weight = 1.0;
        let mut cookies = self.cookies;
        if entry.value.mapping().is_some() {
            let called = format!("session `{}`", entry.key);
            if let Some(fields) = self.fields(&entry.value, &SESSION, &called) {
                weight = fields.get("weight").and_then(|n| self.weight(n)).unwrap_or(weight);
                if let Some(node) = fields.get("cookies") {
                    self.defaults.chooses_cookies = true;
                    cookies = self.bool(node).unwrap_or(cookies);
                }
                let tags = self.enter_tags(fields.get("tags"));
                if let Some(steps) = fields.get("steps") {
                    self.steps(steps, &mut program);
                }
                self.tags = tags;
            }
        } else {
            self.steps(&entry.value, &mut program);
        }
        let included = self.diagnostics.included_at(entry.key_place.span.start);
        let file = included.filter(|_| entry.key_place.set.is_none()).map(|file| file.name.clone());
        Session { file, ..program.into_session(&entry.key, weight, cookies) }
    }

    /// Compiles a list of steps; returns where its instructions begin.
    pub(super) fn steps(&mut self, node: &Node, program: &mut Program) -> usize {
        let start = program.ops.len();
        match node.sequence() {
            Some([]) => {
                self.diagnostics.error("empty", &node.place, "there is no step").hint("add a step");
            }
            Some(steps) => steps.iter().for_each(|step| self.step(step, program)),
            None => self.expected(node, "a list of steps (`- think: 1s`)"),
        }
        start
    }

    /// Compiles one step. Where that fails a wait stands in for it, lest a loop around it be
    /// blamed for not waiting.
    pub(super) fn step(&mut self, node: &Node, program: &mut Program) {
        let diagnostics = self.diagnostics.count();
        let start = program.ops.len();
        let around = std::mem::replace(&mut program.line, self.diagnostics.line_of(&node.place));
        self.sound_step(node, program);
        if self.diagnostics.count() > diagnostics && !program.waits_since(start) {
            program.push(Op::Think(Dist::Constant(1.0)));
        }
        program.line = around;
    }

    fn sound_step(&mut self, node: &Node, program: &mut Program) {
        let Some(step) = self.kind_of(node) else {
            return;
        };
        let verb = step.keys.verb();
        let called = format!("a `{verb}` step");
        let Some(fields) = self.fields_advised(node, step.keys, &called, hint_in_step) else {
            return;
        };
        let Some(value) = fields.get(verb) else {
            return;
        };
        if !self.may_be_in_branch(verb, &step.in_branch, &fields, program) {
            return;
        }
        let tags = match step.keys.key("tags") {
            Some(_) => fields.get("tags"),
            None => None,
        };
        let tags = self.enter_tags(tags);
        (step.compile)(self, value, &fields, program);
        self.tags = tags;
    }

    pub(super) fn think(&mut self, value: &Node, program: &mut Program) {
        if let Some(dist) = self.dist(value) {
            program.push(Op::Think(dist));
            return;
        }
        // What a user's variables say is an expression.
        let meant = value.text().and_then(translation::seconds_meant);
        let names = Names::new(self, Some(&program.slot_names));
        if let Some(meant) = meant.filter(|meant| expression(meant, &names).is_ok()) {
            self.diagnostics.last_hint(format!("write `think_seconds: {meant}`"));
        }
    }

    pub(super) fn think_seconds(&mut self, value: &Node, program: &mut Program) {
        if let Some(seconds) = self.expression(value, program) {
            program.push(Op::ThinkFor(seconds));
        }
    }

    pub(super) fn pace(&mut self, value: &Node, program: &mut Program) {
        if let Some(every) = self.dist(value) {
            let register = program.register();
            program.push(Op::Pace { register, every });
        }
    }

    /// The kind of the step, by its verb: its first key that is one. `check` is also a part of other
    /// steps and counts only where it stands alone.
    fn kind_of(&mut self, node: &Node) -> Option<&'static Step> {
        let Some(entries) = node.mapping() else {
            let bare = node.text().filter(|_| !node.is_null()).and_then(step);
            self.expected(node, "a step like `think: 1s`");
            if let Some(Step { keys: table, .. }) = bare {
                let hint = match table.keys().next().map(|key| &key.kind) {
                    Some(Kind::Nothing) => format!("write `{}:` with a colon", table.verb()),
                    _ => format!("write `{}: …`", table.verb()),
                };
                self.diagnostics.last_hint(hint);
            } else if let Some(hint) = node.text().and_then(translation::request_meant) {
                self.diagnostics.last_hint(hint);
            }
            return None;
        };
        let mut found = entries.iter().filter_map(|e| step(&e.key));
        let first = found.next();
        let found = match first {
            Some(step) if step.keys.verb() == "check" => found.next().or(first),
            other => other,
        };
        if found.is_none() {
            match entries.first() {
                Some(entry) => {
                    let names = STEPS.iter().map(|step| step.keys.verb());
                    let hint = translation::step_meant(entry)
                        .or_else(|| other_tools::hint_for_step(&entry.key).map(str::to_owned))
                        .or_else(|| suggest::hint(&entry.key, "the steps are", names.clone()));
                    let message = format!("there is no step `{}`", entry.key);
                    self.diagnostics
                        .error("unknown-step", &entry.key_place, message)
                        .hint_some(hint);
                    // A step of another tool is no misspelling.
                    let is_foreign = other_tools::hint_for_step(&entry.key).is_some();
                    return STEPS.iter().find(|step| {
                        let verb = step.keys.verb();
                        !is_foreign
                            && misspelt(step.keys, &entry.key, hint_in_step) == Some(verb)
                            && may_stand_behind(&entry.value, step.keys, verb)
                            && suggest::nearest(&entry.key, names.clone()) == Some(verb)
                    });
                }
                None => self.expected(node, "a step like `think: 1s`"),
            }
        }
        found
    }
}

/// Advice on a word that is no key of the step in which it stands.
fn hint_in_step(written: &str) -> Option<String> {
    match step(written) {
        Some(_) => {
            Some(format!("`{written}` is a step of its own: begin a line with `- {written}:`"))
        }
        None => other_tools::hint_in_step(written),
    }
}
