//! Branches of a user that run at the same time.
//!
//! A branch has the variables that were set before it began, and its own. So what it sets is hidden from the branches
//! behind it, and no two of them may set the same.

use plan::{Branch, Op, Parallel, Slot};

use super::Checker;
use super::fields::Fields;
use super::program::Program;
use crate::document::node::{Node, Place};

/// Branches of one step.
pub(super) const BRANCHES_MAX: usize = 64;
/// Ends the names of variables that the branches behind do not know.
const HIDDEN: &str = " of another branch";
/// Why a variable is not known in a branch.
pub(super) const OF_ANOTHER_BRANCH: &str =
    "another branch sets it: the user has its value when all branches have ended";
/// Hint about steps of connections.
const OPENED_OUTSIDE: &str = "what stays open between steps belongs to the user: open, use and close it before or after \
                              `parallel`";

/// Whether a step may stand in a branch of `parallel`.
pub(super) enum BranchRule {
    Allowed,
    /// It is about a connection that stays open between steps.
    StaysOpen,
    /// The hint says what to write instead.
    Refused(&'static str),
}

/// State of the branches of a step while they are compiled.
#[derive(Debug, Default)]
pub(super) struct InBranch {
    /// Variables that the branches before set, by name.
    others: Vec<(String, Place)>,
    /// Variables that this branch sets, by name.
    own: Vec<(String, Place)>,
}

impl Checker<'_> {
    pub(super) fn parallel(&mut self, node: &Node, program: &mut Program) {
        if node.get("foreach").is_some() {
            return self.parallel_items(node, program);
        }
        let Some(items) = node.sequence().filter(|items| !items.is_empty()) else {
            self.expected(
                node,
                "a list of branches (`[ { get: /a }, { get: /b } ]`), or a mapping with `foreach`",
            );
            return;
        };
        if let Some(further) = items.get(BRANCHES_MAX) {
            let message = format!("there are more than {BRANCHES_MAX} branches");
            self.diagnostics
                .error("too-many", &further.place, message)
                .hint("put steps that can follow each other into one branch, as a list");
            return;
        }
        let draws = program.branch_draws();
        let at =
            program.push(Op::Parallel(Box::new(Parallel { branches: Vec::new(), end: 0, draws })));
        let around = program.retry_draws;
        let known_count = program.slot_names.len();
        let mut branches = Vec::new();
        let mut others = Vec::new();
        for item in items {
            let first_new = program.slot_names.len();
            program.retry_draws = None;
            program.in_branch = Some(InBranch { others, own: Vec::new() });
            branches.push(self.branch(item, program));
            let InBranch { others: before, own } = program.in_branch.take().unwrap_or_default();
            others = before;
            others.extend(own);
            hide(&mut program.slot_names[first_new..]);
        }
        show(&mut program.slot_names[known_count..]);
        program.retry_draws = around;
        program.ops[at] = Op::Parallel(Box::new(Parallel { branches, end: program.pc(), draws }));
    }

    fn branch(&mut self, item: &Node, program: &mut Program) -> Branch {
        let start = program.pc();
        match item.sequence() {
            Some(_) => {
                self.steps(item, program);
            }
            None => self.step(item, program),
        }
        program.push(Op::BranchEnd);
        let own = program.in_branch.as_ref().map(|branch| &branch.own);
        let names: Vec<String> = own.into_iter().flatten().map(|(n, _)| n.clone()).collect();
        let mut sets: Vec<Slot> = names.iter().map(|name| program.slot(name)).collect();
        sets.sort_unstable();
        sets.dedup();
        Branch {
            instructions: start..program.pc(),
            first: None,
            sets,
            retry_draws: program.retry_draws,
        }
    }

    /// A step sets this variable: reports it if another branch does, too.
    pub(super) fn set_in_branch(&mut self, name: &str, place: &Place, program: &mut Program) {
        let Some(branch) = &mut program.in_branch else {
            return;
        };
        let mut others = branch.others.iter();
        match others.find(|(other, _)| other == name) {
            Some((_, first)) => {
                let line = self.diagnostics.line(first.span.start);
                let message = format!("another branch sets `{name}`, too, in line {line}");
                self.diagnostics
                    .error("two-branches", place, message)
                    .hint("branches run at the same time: give their variables different names");
            }
            None => branch.own.push((name.to_owned(), place.clone())),
        }
    }

    /// Whether a step may stand where it does; reports it if it is in a branch and may not.
    pub(super) fn may_be_in_branch(
        &mut self,
        verb: &str,
        rule: &BranchRule,
        fields: &Fields<'_>,
        program: &Program,
    ) -> bool {
        let Some(place) = self.place_in_branch(verb, fields, program) else {
            return true;
        };
        match *rule {
            BranchRule::Allowed => return true,
            BranchRule::StaysOpen => self.stays_open(&place),
            BranchRule::Refused(hint) => {
                let message = format!("`{verb}` cannot stand in a branch of `parallel`");
                self.diagnostics.error("in-branch", &place, message).hint(hint);
            }
        }
        false
    }

    /// The step's place, if that is in a branch.
    pub(super) fn place_in_branch(
        &self,
        verb: &str,
        fields: &Fields<'_>,
        program: &Program,
    ) -> Option<Place> {
        let is_in_branch = program.in_branch.is_some();
        is_in_branch.then(|| fields.key_place(verb).unwrap_or(fields.place()).clone())
    }

    /// Reports a step of something that stays open.
    pub(super) fn stays_open(&mut self, place: &Place) {
        let message = "a branch of `parallel` can only send requests that are answered once";
        self.diagnostics.error("in-branch", place, message).hint(OPENED_OUTSIDE);
    }
}

fn hide(names: &mut [String]) {
    for name in names.iter_mut().filter(|name| !name.ends_with(HIDDEN)) {
        name.push_str(HIDDEN);
    }
}

fn show(names: &mut [String]) {
    for name in names {
        if let Some(shown) = name.strip_suffix(HIDDEN) {
            *name = shown.to_owned();
        }
    }
}

/// Whether a variable of this name is one of another branch.
pub(super) fn is_hidden(name: &str, slots: &[String]) -> bool {
    let known = |slot: &String| slot.strip_suffix(HIDDEN) == Some(name);
    slots.iter().any(known)
}
