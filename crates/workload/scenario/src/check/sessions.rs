//! Sessions, and which step is which.

use crate::keys::{Kind, SESSION, STEPS, Table, other_tools};
use plan::{Op, Session};
use stats::dist::Dist;

use super::Checker;
use super::fields::Fields;
use super::mqtt::MQTT_STEPS;
use super::program::Program;
use crate::document::node::{Entry, Node};
use crate::document::suggest;

impl Checker<'_> {
    pub(super) fn sessions(&mut self, node: &Node) -> Vec<Session> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of session names");
            return Vec::new();
        };
        if entries.is_empty() {
            self.diagnostics.error("empty", &node.place, "there is no session");
        }
        entries.iter().map(|entry| self.session(entry)).collect()
    }

    fn session(&mut self, entry: &Entry) -> Session {
        let mut program = Program::default();
        let mut weight = 1.0;
        let mut cookies = self.cookies;
        if entry.value.mapping().is_some() {
            let called = format!("session `{}`", entry.key);
            if let Some(fields) = self.fields(&entry.value, &SESSION, &called) {
                weight = fields.get("weight").and_then(|n| self.weight(n)).unwrap_or(weight);
                if let Some(node) = fields.get("cookies") {
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
        program.into_session(&entry.key, weight, cookies)
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
        self.sound_step(node, program);
        if self.diagnostics.count() > diagnostics && !program.waits_since(start) {
            program.push(Op::Think(Dist::Constant(1.0)));
        }
    }

    fn sound_step(&mut self, node: &Node, program: &mut Program) {
        let Some(table) = self.step_table(node) else {
            return;
        };
        let called = format!("a `{}` step", table.verb());
        let Some(fields) = self.fields(node, table, &called) else {
            return;
        };
        let Some(value) = fields.get(table.verb()) else {
            return;
        };
        if !self.may_be_in_branch(table.verb(), &fields, program) {
            return;
        }
        let tags = match table.key("tags") {
            Some(_) => fields.get("tags"),
            None => None,
        };
        let tags = self.enter_tags(tags);
        self.compile_step(table.verb(), value, &fields, program);
        self.tags = tags;
    }

    fn compile_step(
        &mut self,
        verb: &str,
        value: &Node,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        match verb {
            "http" | "get" | "head" | "post" | "put" | "patch" | "delete" => {
                self.http(verb, value, fields, program);
            }
            "graphql" => self.graphql(value, fields, program),
            "grpc" => self.grpc(value, fields, program),
            "ws" => self.ws(value, fields, program),
            "sse" => self.sse(value, fields, program),
            "poll" => self.poll(value, fields, program),
            "join" => self.join(value, fields, program),
            "push" => self.push(value, fields, program),
            "perform" => self.perform(value, fields, program),
            "emit" => self.emit(value, fields, program),
            "leave" => self.leave(value, fields, program),
            "tcp" => self.tcp(value, fields, program),
            _ if MQTT_STEPS.contains(&verb) => self.mqtt_step(verb, value, fields, program),
            "send" => self.send(value, fields, program),
            "expect" => self.expect_step(value, program),
            "close" => self.close(value, fields, program),
            "think" => {
                if let Some(dist) = self.dist(value) {
                    program.push(Op::Think(dist));
                }
            }
            "think_seconds" => {
                if let Some(seconds) = self.expression(value, program) {
                    program.push(Op::ThinkFor(seconds));
                }
            }
            "pace" => {
                if let Some(every) = self.dist(value) {
                    let register = program.register();
                    program.push(Op::Pace { register, every });
                }
            }
            "set" => self.set(value, program),
            "js" => self.js_step(value, fields, program),
            "feed" => self.feed(value, fields, program),
            "markov" => self.markov(value, program),
            "check" => self.check_step(value, fields, program),
            "measure" => self.measure_step(value, fields, program),
            "loop" => self.loop_step(value, fields, program),
            "foreach" => self.foreach_step(value, fields, program),
            "forever" => self.forever(value, program),
            "while" => self.while_step(value, fields, program),
            "if" => self.if_step(value, fields, program),
            "choose" => self.choose(value, program),
            "group" => self.group(value, fields, program),
            "transaction" => self.transaction(value, fields, program),
            "parallel" => self.parallel(value, program),
            "rendezvous" | "next" | "enqueue" | "dequeue" => {
                self.step_between(verb, value, fields, program);
            }
            "retry" => self.retry(value, fields, program),
            "stop" => self.stop(value, program),
            "restart" => self.restart(value, program),
            verb => unreachable!("the step `{verb}` has a table and no meaning"),
        }
    }

    /// The table of the step's verb: its first key that is one. `check` is also a part of other
    /// steps and counts only where it stands alone.
    fn step_table(&mut self, node: &Node) -> Option<&'static Table> {
        let verb = |name: &str| STEPS.iter().copied().find(|t| t.verb() == name);
        let Some(entries) = node.mapping() else {
            let bare = node.text().filter(|_| !node.is_null()).and_then(verb);
            self.expected(node, "a step like `think: 1s`");
            if let Some(table) = bare {
                let hint = match table.keys().next().map(|key| &key.kind) {
                    Some(Kind::Nothing) => format!("write `{}:` with a colon", table.verb()),
                    _ => format!("write `{}: …`", table.verb()),
                };
                self.diagnostics.last_hint(hint);
            }
            return None;
        };
        let mut found = entries.iter().filter_map(|e| verb(&e.key));
        let first = found.next();
        let table = match first {
            Some(table) if table.verb() == "check" => found.next().or(first),
            other => other,
        };
        if table.is_none() {
            match entries.first() {
                Some(entry) => {
                    let names = STEPS.iter().map(|table| table.verb());
                    let hint = other_tools::hint_for_step(&entry.key)
                        .map(str::to_owned)
                        .or_else(|| suggest::hint(&entry.key, "the steps are", names));
                    let message = format!("there is no step `{}`", entry.key);
                    self.diagnostics
                        .error("unknown-step", &entry.key_place, message)
                        .hint_some(hint);
                }
                None => self.expected(node, "a step like `think: 1s`"),
            }
        }
        table
    }
}
