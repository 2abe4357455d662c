//! State that users share, and the steps that use it.

use crate::keys::{ON_TIMEOUT, SHARED};
use plan::{Counter, MeasureKind, MeetOp, Meetings, Op, Queue, Rendezvous, Session};

use super::fields::Fields;
use super::program::Program;
use super::{Checker, index};
use crate::document::node::{Entry, Node, Place};
use crate::expression::is_name;

/// Users that a rendezvous has at least.
const USERS_MIN: u64 = 2;
/// The first number of a counter where none is written.
const FIRST: u64 = 1;
/// Values that a queue holds where no number is written.
const VALUES: u64 = 10_000;
/// The largest number that can be written.
const VALUES_MAX: u64 = 1_000_000;
/// Things of one kind that users can share.
const EACH_MAX: usize = 64;
/// Standard deviations of a number of random arrivals that are not expected to be exceeded.
const DEVIATIONS: f64 = 6.0;

/// Kinds of declarations under `shared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rendezvous,
    Counter,
    Queue,
}

impl Kind {
    /// The kind's key under `shared`.
    fn key(self) -> &'static str {
        match self {
            Kind::Rendezvous => "rendezvous",
            Kind::Counter => "counters",
            Kind::Queue => "queues",
        }
    }

    /// The noun for one of the kind, in messages.
    fn noun(self) -> &'static str {
        match self {
            Kind::Rendezvous => "rendezvous",
            Kind::Counter => "counter",
            Kind::Queue => "queue",
        }
    }
}

/// Something that is declared.
#[derive(Debug)]
struct Declaration {
    kind: Kind,
    name: String,
    /// Users, the first number, or values.
    number: u64,
    place: Place,
    used: bool,
}

/// Everything that is declared.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    all: Vec<Declaration>,
    /// The steps that are being compiled run once, for nobody: where they stand.
    pub(super) alone: Option<&'static str>,
}

impl Declarations {
    fn declared(&self, kind: Kind) -> impl Iterator<Item = &Declaration> + Clone {
        self.all.iter().filter(move |one| one.kind == kind)
    }
}

impl Checker<'_> {
    pub(super) fn shared_by_users(&mut self, node: &Node) {
        let Some(fields) = self.fields(node, &SHARED, "`shared`") else {
            return;
        };
        for kind in [Kind::Rendezvous, Kind::Counter, Kind::Queue] {
            let Some(node) = fields.get(kind.key()).filter(|node| !node.is_null()) else {
                continue;
            };
            let Some(entries) = node.mapping() else {
                self.expected(node, "a mapping of names and numbers");
                continue;
            };
            if let Some(further) = entries.get(EACH_MAX) {
                let message = format!("there are more than {EACH_MAX} {}", kind.key());
                self.diagnostics.error("too-many", &further.key_place, message);
            }
            for entry in entries {
                self.declare(kind, entry);
            }
        }
    }

    fn declare(&mut self, kind: Kind, entry: &Entry) {
        if !is_name(&entry.key) {
            let message = format!("`{}` cannot name a {}", entry.key, kind.noun());
            self.diagnostics
                .error("bad-name", &entry.key_place, message)
                .hint("a name starts with a letter and contains letters, digits and _");
        }
        let (number, hint) = match (kind, entry.value.is_null()) {
            (Kind::Counter, true) => (Some(FIRST), None),
            (Kind::Queue, true) => (Some(VALUES), None),
            (Kind::Rendezvous, _) => {
                let users = self.count(&entry.value);
                let is_one = users.is_some_and(|users| users < USERS_MIN);
                let hint = is_one.then(|| format!("write {USERS_MIN} or more users"));
                (users, hint)
            }
            (Kind::Counter, _) => (self.count(&entry.value), None),
            (Kind::Queue, _) => {
                let values = self.count(&entry.value);
                let is_off = values.is_some_and(|n| !(1..=VALUES_MAX).contains(&n));
                let hint = is_off.then(|| format!("write 1 to {VALUES_MAX} values"));
                (values, hint)
            }
        };
        let number = number.unwrap_or(USERS_MIN);
        if hint.is_some() {
            let message = format!("{number} is out of range for a {}", kind.noun());
            self.diagnostics.error("bad-count", &entry.value.place, message).hint_some(hint);
        }
        self.between.all.push(Declaration {
            kind,
            name: entry.key.clone(),
            number,
            place: entry.key_place.clone(),
            used: false,
        });
    }

    /// The number of what a step names, among its kind; reports names that nothing has.
    fn named(&mut self, kind: Kind, node: &Node) -> Option<(u16, String)> {
        let word = self.word(node, &format!("the name of a {}", kind.noun()))?;
        if let Some(once) = self.between.alone {
            let message = format!("a step between users cannot stand in `{once}`");
            self.diagnostics
                .error("misplaced-step", &word.place, message)
                .hint("its steps run once, when no user is there");
            return None;
        }
        let names: Vec<String> = self.between.declared(kind).map(|one| one.name.clone()).collect();
        let Some(at) = names.iter().position(|name| *name == word.text) else {
            let message = format!("there is no {} `{}`", kind.noun(), word.text);
            let known = format!("the entries of `shared.{}` are", kind.key());
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            if names.is_empty() {
                let number = if kind == Kind::Rendezvous { " 500" } else { "" };
                let hint = format!(
                    "declare it: `shared: {{ {}: {{ {}:{number} }} }}`",
                    kind.key(),
                    word.text
                );
                self.diagnostics.error("unknown-shared", &word.place, message).hint(hint);
            } else {
                let written = word.text.as_str();
                let introduction = known.as_str();
                self.unknown("unknown-shared", &word.place, message, written, introduction, names);
            }
            return None;
        };
        let mut same = self.between.all.iter_mut().filter(|one| one.kind == kind);
        if let Some(one) = same.nth(at) {
            one.used = true;
        }
        Some((index(at), word.text))
    }

    /// A step between users, of this verb.
    pub(super) fn step_between(
        &mut self,
        verb: &str,
        node: &Node,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        match verb {
            "rendezvous" => self.rendezvous(node, fields, program),
            "next" => self.next_step(node, program),
            "enqueue" => self.enqueue(node, fields, program),
            _ => self.dequeue(node, fields, program),
        }
    }

    /// A limit that may be 0.
    fn wait_ns(&mut self, fields: &Fields<'_>) -> u64 {
        let written = fields.get("timeout");
        let written = written.and_then(|node| self.duration_or_none_ns(node));
        written.unwrap_or(self.timeout_ns)
    }

    fn rendezvous(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let found = self.named(Kind::Rendezvous, node);
        let timeout_ns = self.wait_ns(fields);
        let on_timeout = fields.get_or_default("on_timeout");
        let on_timeout = on_timeout.and_then(|node| self.choice(&node, ON_TIMEOUT));
        let Some((rendezvous, name)) = found else {
            return;
        };
        let name = format!("rendezvous {name}");
        let measure = self.measure_from(fields, "as", &name, MeasureKind::Meeting);
        program.push(Op::Meet(Box::new(MeetOp::Rendezvous {
            rendezvous,
            timeout_ns,
            fails: on_timeout == Some(1),
            measure,
        })));
    }

    fn next_step(&mut self, node: &Node, program: &mut Program) {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of variables and counters");
            return;
        };
        for entry in entries {
            let found = self.named(Kind::Counter, &entry.value);
            let slot = self.variable(&entry.key, &entry.key_place, program);
            if let (Some((counter, _)), Some(slot)) = (found, slot) {
                program.push(Op::Meet(Box::new(MeetOp::Next { counter, slot })));
            }
        }
    }

    fn enqueue(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let found = self.named(Kind::Queue, node);
        let value = fields.get("value");
        let value = value.and_then(|node| self.typed_template(node, program));
        let (Some((queue, name)), Some(value)) = (found, value) else {
            return;
        };
        let name = format!("enqueue {name}");
        let measure = self.measure_from(fields, "as", &name, MeasureKind::Meeting);
        program.push(Op::Meet(Box::new(MeetOp::Enqueue { queue, value, measure })));
    }

    fn dequeue(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let found = self.named(Kind::Queue, node);
        let timeout_ns = self.wait_ns(fields);
        let slot = fields.get("save").and_then(|node| {
            let word = self.word(node, "a variable's name")?;
            self.variable(&word.text, &word.place, program)
        });
        let (Some((queue, name)), Some(slot)) = (found, slot) else {
            return;
        };
        let name = format!("dequeue {name}");
        let measure = self.measure_from(fields, "as", &name, MeasureKind::Meeting);
        program.push(Op::Meet(Box::new(MeetOp::Dequeue { queue, slot, timeout_ns, measure })));
    }

    /// Warns of what nothing uses, and reports rendezvous that can never be complete. Returns what the plan needs.
    pub(super) fn finish_shared(&mut self, planned: f64, sessions: &[Session]) -> Meetings {
        let all = std::mem::take(&mut self.between).all;
        let most = (planned + DEVIATIONS * planned.sqrt()).ceil();
        // Branches of one user may meet each other.
        let one_each = !sessions.iter().any(Session::has_branches);
        for one in &all {
            let noun = one.kind.noun();
            let name = &one.name;
            if !one.used {
                let message = format!("the {noun} `{name}` is never used");
                self.diagnostics.warning("unused-shared", &one.place, message);
            } else if one.kind == Kind::Rendezvous && one_each && one.number as f64 > most {
                let message = format!(
                    "`{name}` waits for {} users, but about {planned:.0} come in the whole run",
                    one.number
                );
                self.diagnostics
                    .error("too-few-users", &one.place, message)
                    .hint("plan more users in `arrivals`, or let fewer of them meet");
            }
        }
        let mut meetings = Meetings::default();
        for Declaration { kind, name, number, .. } in all {
            match kind {
                Kind::Rendezvous => meetings.rendezvous.push(Rendezvous { name, users: number }),
                Kind::Counter => meetings.counters.push(Counter { name, first: number }),
                Kind::Queue => meetings.queues.push(Queue { name, values_max: number }),
            }
        }
        meetings
    }
}
