//! Steps that decide what comes next, and variables.

use crate::keys::{CHOICE, TIME_UNITS};
use plan::expr::{Binary, Escape, Expr, Func, Pure, Template, TemplatePart, Value};
use plan::{MeasureId, MeasureKind, Op, Slot, Transaction};

use super::Checker;
use super::fields::Fields;
use super::names::Names;
use super::program::Program;
use crate::document::node::{Node, Place};
use crate::expression::Scope;

/// Gives a variable the value of an expression.
pub(super) fn set(slot: Slot, expr: Expr) -> Op {
    Op::Set { slot, value: Template { parts: vec![TemplatePart::Expr(expr, Escape::None)] } }
}

/// A loop of up to this number of constant rounds needs no wait.
const ROUNDS_WITHOUT_WAIT_MAX: i64 = 1000;

impl Checker<'_> {
    pub(super) fn set(&mut self, node: &Node, program: &mut Program) {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of variables and values");
            return;
        };
        for entry in entries {
            let value = self.typed_template(&entry.value, program);
            self.note_variable(&entry.key, &entry.value);
            let slot = self.variable(&entry.key, &entry.key_place, program);
            if let (Some(slot), Some(value)) = (slot, value) {
                program.line = self.diagnostics.line_of(&entry.value.place);
                program.push(Op::Set { slot, value });
            }
        }
    }

    pub(super) fn check_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let conditions = self.conditions(Some(node), program);
        let measure = self.measure_from(fields, "as", "check", MeasureKind::Check);
        for condition in conditions {
            program.push(Op::Check { condition, measure });
        }
    }

    pub(super) fn measure_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let written = node.scalar().map_or("measure", |scalar| scalar.text.trim());
        let inner = written.strip_prefix("${");
        let name = inner.and_then(|inner| inner.strip_suffix('}'));
        let name = name.unwrap_or(written);
        let given = fields.get("as").and_then(|node| self.word(node, "a name"));
        let (name, place) = match &given {
            Some(word) => (word.text.as_str(), &word.place),
            // A name that was not written can only clash, and the step is then to blame.
            None => (name, fields.place()),
        };
        if let Some(metric) = self.metric(name) {
            return self.record_step(node, fields, metric, program);
        }
        let value = self.expression(node, program);
        let unit = fields.get("unit").filter(|node| !node.is_null());
        let unit_ns = match unit.and_then(Node::text) {
            Some(text) if !TIME_UNITS.contains(&text) && !text.contains("${") => {
                self.no_time_unit(text, name, unit.map_or(place, |node| &node.place));
                1.0
            }
            _ => self.time_unit_ns(fields),
        };
        let measure = self.measure(name, MeasureKind::Value, place);
        if let Some(value) = value {
            program.push(Op::Measure { value, unit_ns, measure });
        }
    }

    pub(super) fn loop_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let is_variable = Names::new(self, Some(&program.slot_names)).names().contains(&"forever");
        let times = match node.text() {
            Some("forever") if !is_variable => {
                let message = "`forever` is not a number of iterations";
                self.diagnostics
                    .error("bad-count", &node.place, message)
                    .hint("write `forever: [ … ]`, which repeats its steps until the run ends");
                None
            }
            _ => self.expression(node, program),
        };
        let rounds = match &times {
            Some(Expr::Const(value)) => self.rounds(node, value),
            _ => None,
        };
        let register = program.register();
        let times = times.unwrap_or(Expr::Const(Value::Int(0)));
        let start = program.push(Op::LoopStart { register, times, end: 0 });
        let body = program.pc();
        if let Some(steps) = fields.get("steps") {
            self.steps(steps, program);
        }
        let short = rounds.is_some_and(|rounds| rounds <= ROUNDS_WITHOUT_WAIT_MAX);
        if !short {
            self.must_wait("loop", fields.key_place("loop"), start + 1, program);
        }
        program.push(Op::LoopEnd { register, body });
        program.land(start);
    }

    /// A constant number of iterations; reports anything else.
    fn rounds(&mut self, node: &Node, value: &Value) -> Option<i64> {
        match value {
            Value::Int(rounds) if *rounds >= 0 => Some(*rounds),
            _ => {
                let message = format!("`{}` is not a number of iterations", value.to_text());
                self.diagnostics
                    .error("bad-count", &node.place, message)
                    .hint("write a whole number like 10, or an expression like random(1, 5)");
                None
            }
        }
    }

    /// Counts through a list that is kept as it was when the loop began.
    pub(super) fn foreach_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let list_value = self.expression(node, program);
        let at_most = fields.get("max").and_then(|node| self.count(node));
        let mut variable = |key: &str, otherwise: String| match fields.get(key) {
            None => Some(program.slot(&otherwise)),
            Some(node) => {
                let word = self.word(node, "a variable's name")?;
                self.variable(&word.text, &word.place, program)
            }
        };
        // No variable of the scenario can have these names.
        let item = variable("as", "the item".to_owned());
        let index = variable("index", format!("number of {}", node.place.span.start));
        let list = program.slot(&format!("list of {}", node.place.span.start));
        let (Some(list_value), Some(item), Some(index)) = (list_value, item, index) else {
            return;
        };
        program.push(set(list, list_value));
        program.push(set(index, Expr::Const(Value::Int(-1))));
        let register = program.register();
        let at_most = at_most.map(|count| Value::Int(i64::try_from(count).unwrap_or(i64::MAX)));
        let args = [Expr::Var(list)].into_iter().chain(at_most.map(Expr::Const));
        let start = program.push(Op::LoopStart {
            register,
            times: Expr::Call(Func::Pure(Pure::Rounds), args.collect()),
            end: 0,
        });
        let body = program.pc();
        let one = Box::new(Expr::Const(Value::Int(1)));
        let next = Expr::Binary(Binary::Add, Box::new(Expr::Var(index)), one);
        program.push(set(index, next));
        let found = vec![Expr::Var(list), Expr::Var(index)];
        program.push(set(item, Expr::Call(Func::Pure(Pure::Item), found)));
        if let Some(steps) = fields.get("steps") {
            self.steps(steps, program);
        }
        self.must_wait("foreach", fields.key_place("foreach"), start + 1, program);
        program.push(Op::LoopEnd { register, body });
        program.land(start);
    }

    pub(super) fn forever(&mut self, node: &Node, program: &mut Program) {
        let top = program.pc();
        let start = self.steps(node, program);
        self.must_wait("forever", Some(&node.place), start, program);
        program.push(Op::Jump(top));
    }

    pub(super) fn while_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let top = program.pc();
        let condition = self.condition(node, program);
        let test = program.push(Op::JumpUnless { condition, to: 0 });
        if let Some(steps) = fields.get("steps") {
            self.steps(steps, program);
        }
        self.must_wait("while", fields.key_place("while"), test + 1, program);
        program.push(Op::Jump(top));
        program.land(test);
    }

    /// A loop whose body takes no time would spin and stop every other user of its event loop.
    pub(super) fn must_wait(
        &mut self,
        verb: &str,
        place: Option<&Place>,
        start: usize,
        program: &Program,
    ) {
        if let Some(place) = place.filter(|_| !program.waits_since(start)) {
            let message =
                format!("the body of this `{verb}` never waits, so it would be a busy loop");
            self.diagnostics
                .error("spin", place, message)
                .hint("add a `think`, a `pace`, a request or a `reply`");
        }
    }

    /// A condition; where it is wrong, one that stands in for it.
    fn condition(&mut self, node: &Node, program: &Program) -> Expr {
        self.expression(node, program).unwrap_or(Expr::Const(Value::Nothing))
    }

    pub(super) fn if_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let condition = self.condition(node, program);
        let test = program.push(Op::JumpUnless { condition, to: 0 });
        if let Some(steps) = fields.get("then") {
            self.steps(steps, program);
        }
        let Some(otherwise) = fields.get("else") else {
            program.land(test);
            return;
        };
        let over = program.push(Op::Jump(0));
        program.land(test);
        self.steps(otherwise, program);
        program.land(over);
    }

    pub(super) fn choose(&mut self, node: &Node, program: &mut Program) {
        let Some(items) = node.sequence().filter(|items| !items.is_empty()) else {
            self.expected(node, "a list of branches (`- { weight: 3, steps: […] }`)");
            return;
        };
        let choice = program.push(Op::Choose(Vec::new()));
        let mut branches = Vec::new();
        let mut ends = Vec::new();
        for item in items {
            let Some(fields) = self.fields(item, &CHOICE, "a branch") else {
                continue;
            };
            let weight = fields.get("weight").map_or(Some(1.0), |n| self.weight(n));
            branches.push((weight.unwrap_or(1.0), program.pc()));
            if let Some(steps) = fields.get("steps") {
                self.steps(steps, program);
            }
            ends.push(program.push(Op::Jump(0)));
        }
        if !branches.is_empty() && branches.iter().all(|(weight, _)| *weight == 0.0) {
            self.diagnostics.error("bad-number", &node.place, "all branches have weight 0");
        }
        for end in ends {
            program.land(end);
        }
        program.ops[choice] = Op::Choose(branches);
    }

    /// A transaction whose steps are also added up by its name.
    pub(super) fn group(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let around = self.tags.clone();
        let measure = self.word(node, "the group's name").map(|word| {
            let name = self.enter_group(&word.text, &word.place);
            self.measure(&name, MeasureKind::Transaction, &word.place)
        });
        self.timed_together(measure, fields.get("steps"), program);
        self.tags = around;
    }

    pub(super) fn transaction(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let measure = self
            .word(node, "the transaction's name")
            .map(|word| self.measure(&word.text, MeasureKind::Transaction, &word.place));
        self.timed_together(measure, fields.get("steps"), program);
    }

    /// Steps with a measure for all of them together.
    fn timed_together(
        &mut self,
        measure: Option<MeasureId>,
        steps: Option<&Node>,
        program: &mut Program,
    ) {
        let register = program.register();
        let failure = program.register();
        let place = program.transactions.len();
        if let Some(measure) = measure {
            program.push(Op::TransactionStart { register, failure, measure });
            let here = program.pc();
            program.transactions.push(Transaction {
                instructions: here..here,
                register,
                failure,
                measure,
            });
        }
        if let Some(steps) = steps {
            self.steps(steps, program);
        }
        if let Some(measure) = measure {
            program.push(Op::TransactionEnd { register, failure, measure });
            program.transactions[place].instructions.end = program.pc();
        }
    }

    pub(super) fn restart(&mut self, node: &Node, program: &mut Program) {
        if let Some(times_max) = self.count(node) {
            let register = program.register();
            program.push(Op::Restart { register, times_max });
        }
    }

    pub(super) fn stop(&mut self, node: &Node, program: &mut Program) {
        if node.is_null() {
            program.push(Op::Stop);
        } else {
            self.expected(node, "nothing after `stop:`");
        }
    }
}
