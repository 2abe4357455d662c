//! Branches that share the items of a list (`parallel` with `foreach`).
//!
//! There are as many branches as items are handled at once, and all have the same instructions: branch n begins with item
//! n, and each continues with the item that is as many further as there are branches.

use crate::keys::ITEMS;
use plan::expr::{Binary, Expr, Func, Pure, Value};
use plan::{Branch, Op, Parallel, Slot};

use super::Checker;
use super::fields::Fields;
use super::flow::set;
use super::parallel::{BRANCHES_MAX, InBranch};
use super::program::Program;
use crate::document::node::Node;

impl Checker<'_> {
    pub(super) fn parallel_items(&mut self, node: &Node, program: &mut Program) {
        let Some(fields) = self.fields(node, &ITEMS, "`parallel`") else {
            return;
        };
        let list_value = fields.get("foreach").and_then(|node| self.expression(node, program));
        let Some(at_once) = self.at_once(&fields) else {
            return;
        };
        let known_count = program.slot_names.len();
        let list = program.slot(&format!("list of {}", node.place.span.start));
        if let Some(value) = list_value {
            program.push(set(list, value));
        }
        let draws = program.branch_draws();
        let at =
            program.push(Op::Parallel(Box::new(Parallel { branches: Vec::new(), end: 0, draws })));
        let start = program.pc();
        let around = program.retry_draws.take();
        program.in_branch = Some(InBranch::default());
        let index = self.each_item(&fields, list, at_once, program);
        program.in_branch = None;
        program.push(Op::BranchEnd);
        let retry_draws = std::mem::replace(&mut program.retry_draws, around);
        // What is set for an item is unknown behind. No variable of the scenario can have these names.
        for name in &mut program.slot_names[known_count..] {
            if !name.contains(' ') {
                name.push_str(" of an item");
            }
        }
        let end = program.pc();
        let branch = |number| Branch {
            instructions: start..end,
            first: index.map(|index| (index, number - at_once)),
            sets: Vec::new(),
            retry_draws,
        };
        program.ops[at] = Op::Parallel(Box::new(Parallel {
            branches: (0..at_once).map(branch).collect(),
            end,
            draws,
        }));
    }

    /// How many items are handled at the same time.
    fn at_once(&mut self, fields: &Fields<'_>) -> Option<i64> {
        let node = fields.get_or_default("at_once")?;
        let count = self.count(&node)?;
        if (1..=BRANCHES_MAX as u64).contains(&count) {
            return i64::try_from(count).ok();
        }
        let message = format!("`{count}` is not a number of items at the same time");
        self.diagnostics
            .error("too-many", &node.place, message)
            .hint(format!("write a number from 1 to {BRANCHES_MAX}"));
        None
    }

    /// The instructions of a branch; returns the variable that has the number of its item.
    fn each_item(
        &mut self,
        fields: &Fields<'_>,
        list: Slot,
        at_once: i64,
        program: &mut Program,
    ) -> Option<Slot> {
        let mut variable = |key: &str, otherwise: String| match fields.get(key) {
            None => Some(program.slot(&otherwise)),
            Some(node) => {
                let word = self.word(node, "a variable's name")?;
                self.variable(&word.text, &word.place, program)
            }
        };
        // No variable of the scenario can have these names.
        let item = variable("as", "the item".to_owned());
        let index = variable("index", format!("number of {}", list.0));
        let item = item?;
        let index = index?;
        let further = || {
            let more = Box::new(Expr::Const(Value::Int(at_once)));
            Expr::Binary(Binary::Add, Box::new(Expr::Var(index)), more)
        };
        let length = Expr::Call(Func::Pure(Pure::Rounds), vec![Expr::Var(list)]);
        let condition = Expr::Binary(Binary::Less, Box::new(further()), Box::new(length));
        let top = program.push(Op::JumpUnless { condition, to: 0 });
        program.push(set(index, further()));
        let found = vec![Expr::Var(list), Expr::Var(index)];
        program.push(set(item, Expr::Call(Func::Pure(Pure::Item), found)));
        if let Some(steps) = fields.get("steps") {
            self.steps(steps, program);
        }
        self.must_wait("parallel", fields.key_place("foreach"), top + 1, program);
        program.push(Op::Jump(top as u32));
        program.land(top);
        Some(index)
    }
}
