//! The arrival process, phase by phase.

mod clock;
mod population;
mod recorded;
mod sources;
mod together;

use std::collections::HashMap;

use crate::keys::{PHASES, SINGLE, STEP_RANGE, Table, other_tools};
use plan::{Iterations, Phase, PhaseKind, Session, SessionId, Single, Spacing};
use units::parse::UnitError;

use super::cast::{Cast, Mix};
use super::fields::{Fields, misspelt};
use super::program::wait_in;
use super::words::{DURATION_MAX_S, rate_in_range};
use super::{Checker, translation};
use crate::document::node::{Node, Place};
use crate::document::suggest;

/// Most users that all phases together may plan.
pub const USERS_MAX: f64 = 50_000_000.0;
/// Most phases that one flight of `steps` may expand to.
const FLIGHT_MAX: usize = 1000;

const EXAMPLE: &str = "write phases like `- { constant: 10/s, for: 30s }`";

/// An item of the list as compiled: a phase, or several in a row.
struct Piece {
    kind: PhaseKind,
    duration_ns: u64,
    /// Ends its name.
    label: Option<String>,
}

impl Piece {
    fn new(kind: PhaseKind, duration_ns: u64) -> Piece {
        Piece { kind, duration_ns, label: None }
    }
}

/// Settings of a phase besides its kind and length.
#[derive(Default)]
struct Limits {
    session: Option<SessionId>,
    weights: Option<Vec<f64>>,
    users_max: Option<u64>,
    iterations: Option<Iterations>,
    until_done: bool,
}

/// The phases so far.
pub(super) struct Timeline<'s> {
    cast: Cast<'s>,
    /// The sessions of users in phases that choose none.
    mix: Mix,
    pub(super) phases: Vec<Phase>,
    pub(super) singles: Vec<Single>,
    /// How often each name made from a kind was used.
    made_names: HashMap<String, u32>,
    end_ns: u64,
    /// Added to a phase's number where draws are its own: what goes on side by side has others.
    draws: usize,
}

impl Checker<'_> {
    /// Adds the phases of a list to a timeline without any. `place`: where the key stands, for what is wrong with all of
    /// them together.
    pub(super) fn arrivals<'s>(
        &mut self,
        node: &Node,
        place: &Place,
        mut timeline: Timeline<'s>,
    ) -> Timeline<'s> {
        let Some(items) = node.sequence() else {
            self.expected(node, "a list of phases");
            let one = node.mapping().and_then(|_| translation::in_one_line(node));
            let hint = one.map(|phase| format!("write `arrivals: [ {phase} ]`"));
            self.diagnostics.last_hint(hint.unwrap_or_else(|| EXAMPLE.to_owned()));
            return timeline;
        };
        if items.is_empty() {
            self.diagnostics.error("empty", &node.place, "there is no phase").hint(EXAMPLE);
        }
        for item in items {
            if item.get("at").is_some() {
                self.single(item, &mut timeline);
                continue;
            }
            if timeline.phases.last().is_some_and(|last| last.until_done) {
                self.diagnostics
                    .error("misplaced-key", &item.place, "a phase follows one with `until: done`")
                    .hint("only the last phase can have `until: done`");
            }
            self.phase(item, &mut timeline);
        }
        timeline.join_populations();
        timeline.end_with_iterations();
        self.plausible(place, &timeline);
        self.leavable(place, &timeline);
        timeline.singles.sort_by_key(|single| single.due_ns);
        timeline
    }

    /// A user at a time of its own.
    fn single(&mut self, node: &Node, timeline: &mut Timeline<'_>) {
        let Some(fields) = self.fields(node, &SINGLE, "a single user") else {
            return;
        };
        let due_ns = fields.get("at").and_then(|node| self.duration_ns(node));
        let session =
            fields.get("session").and_then(|node| self.phase_session(node, timeline.cast));
        if let (Some(due_ns), Some(session)) = (due_ns, session) {
            timeline.singles.push(Single { due_ns, session });
        }
    }

    /// Limits over all phases.
    fn plausible(&mut self, place: &Place, timeline: &Timeline<'_>) {
        let users = timeline.phases.iter().map(Phase::users_planned).sum::<f64>()
            + timeline.singles.len() as f64;
        if let Some(late) = timeline.singles.iter().find(|s| s.due_ns >= timeline.end_ns) {
            let message = format!(
                "a single user starts at {} s, after the last phase has ended",
                late.due_ns as f64 / 1e9
            );
            self.diagnostics
                .error("too-late", place, message)
                .hint("add a `hold` that lasts longer");
        }
        if users > USERS_MAX {
            let message = format!("these phases start {users:.0} users");
            self.diagnostics
                .error("too-many-users", place, message)
                .hint("a run can have 50 million at most: lower a rate or a duration");
        }
        if timeline.end_ns as f64 > DURATION_MAX_S * 1e9 {
            self.diagnostics.error("too-long", place, "these phases last longer than 366 days");
        }
        if let Some(session) = timeline.spinning() {
            let message = format!(
                "session `{}` never waits, so a closed population would run it in a busy loop",
                session.name
            );
            self.diagnostics
                .error("spin", place, message)
                .hint("add a `think`, a request or a `reply` to the session");
        }
        let sessions = timeline.cast.sessions;
        let are_zero = |weights: &Vec<f64>| weights.iter().all(|weight| *weight == 0.0);
        let weightless = sessions.iter().all(|session| session.weight == 0.0);
        let undrawable = timeline.phases.iter().flat_map(Phase::parts).any(|phase| {
            let is_drawn = phase.session.is_none() && !matches!(phase.kind, PhaseKind::Hold);
            is_drawn && phase.weights.as_ref().map_or(weightless, are_zero)
        });
        if undrawable && !sessions.is_empty() {
            self.diagnostics
                .error("bad-number", place, "all sessions have weight 0")
                .hint("give one of them a weight, or set the phase's `session`");
        }
    }

    fn phase(&mut self, node: &Node, timeline: &mut Timeline<'_>) {
        let Some(table) = self.phase_table(node) else {
            return;
        };
        let called = format!("a `{}` phase", table.verb());
        let Some(fields) = self.fields(node, table, &called) else {
            return;
        };
        let Some(value) = fields.get(table.verb()) else {
            return;
        };
        if table.verb() == "together" {
            return self.together(value, &fields, timeline);
        }
        let before = timeline.draws + timeline.phases.len();
        let pieces = self.pieces(table.verb(), value, &fields, before);
        let iterations = table.key("iterations").and_then(|_| fields.get("iterations"));
        let iterations = iterations.and_then(|node| self.iterations(node, pieces.as_deref()));
        let limits = self.phase_limits(table, &fields, timeline.cast);
        let limits = Limits { iterations, ..limits };
        // What is wrong leaves a gap of this kind, so that thresholds can still name the phase.
        for piece in pieces.unwrap_or_else(|| vec![Piece::new(PhaseKind::Hold, 1)]) {
            let name = self.phase_name(table.verb(), piece.label.as_deref(), &fields, timeline);
            timeline.push(name, piece.kind, piece.duration_ns, &limits);
        }
    }

    /// The phases that an item of the list becomes. `before`: a number that no other item has.
    fn pieces(
        &mut self,
        verb: &str,
        value: &Node,
        fields: &Fields<'_>,
        before: usize,
    ) -> Option<Vec<Piece>> {
        match verb {
            "rates" => return self.rates(value, fields),
            "trace" => return self.trace(value, fields),
            "replay" => return self.replay(value, fields),
            "on_off" => return self.on_off(value, fields, before),
            "steps" => return self.flight(value, fields),
            _ => {}
        }
        let kind = match verb {
            "constant" => self.one_rate(value, Spacing::Even),
            "poisson" => self.one_rate(value, Spacing::Poisson),
            "ramp" => self.ramp(value, fields),
            "hold" => Some(PhaseKind::Hold),
            _ => self.closed(value),
        };
        let duration = if verb == "hold" { Some(value) } else { fields.get("for") };
        let duration_ns = duration.and_then(|node| self.duration_ns(node));
        Some(vec![Piece::new(kind?, duration_ns?)])
    }

    /// The settings of a phase's users.
    fn phase_limits(&mut self, table: &Table, fields: &Fields<'_>, cast: Cast<'_>) -> Limits {
        let written = |key: &str| table.key(key).and_then(|_| fields.get(key));
        let session = written("session").and_then(|node| self.phase_session(node, cast));
        let weights = written("sessions").and_then(|node| self.phase_weights(node, cast));
        if let (Some(_), Some(place)) =
            (&session, table.key("sessions").and_then(|_| fields.key_place("sessions")))
        {
            self.diagnostics.error(
                "misplaced-key",
                place,
                "a phase has either `session` or `sessions`",
            );
        }
        Limits {
            session,
            weights,
            users_max: written("users_max").and_then(|node| self.count(node)),
            iterations: None,
            until_done: written("until")
                .is_some_and(|n| self.choice(n, &["end", "done"]) == Some(1)),
        }
    }

    /// A phase's own weights, for all sessions in their order.
    pub(super) fn phase_weights(&mut self, node: &Node, cast: Cast<'_>) -> Option<Vec<f64>> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of sessions and weights (`reader: 3`)");
            return None;
        };
        let mut weights = vec![0.0; cast.sessions.len()];
        for entry in entries {
            let found = self.session_named(&entry.key, &entry.key_place, cast);
            let weight = self.weight(&entry.value);
            if let (Some(at), Some(weight)) = (found, weight) {
                weights[at.index()] = weight;
            }
        }
        if !weights.is_empty() && weights.iter().all(|weight| *weight == 0.0) {
            self.diagnostics.error("bad-number", &node.place, "all sessions have weight 0");
            return None;
        }
        Some(weights)
    }

    /// The name given, or one made from the kind; reports a name that is already used. `label`: which of
    /// several phases of one item it is.
    fn phase_name(
        &mut self,
        kind: &str,
        label: Option<&str>,
        fields: &Fields<'_>,
        timeline: &mut Timeline<'_>,
    ) -> String {
        let node = fields.get("name");
        let given = node.and_then(|node| self.word(node, "a name"));
        let name = match (given, label) {
            (Some(word), None) => word.text,
            (None, None) => timeline.made_name(kind, 1),
            // Steps are counted, over all flights that have no name.
            (None, Some(_)) if kind == "steps" => timeline.made_name(kind, 0),
            (Some(word), Some(label)) => timeline.made_name(&format!("{}-{label}", word.text), 1),
            (None, Some(label)) => timeline.made_name(&format!("{kind}-{label}"), 1),
        };
        if timeline.phases.iter().any(|phase| phase.name == name) {
            let place = node.map_or(fields.place(), |node| &node.place);
            self.diagnostics
                .error("duplicate-name", place, format!("two phases are named `{name}`"))
                .hint("give each its own `name`");
        }
        name
    }

    fn phase_table(&mut self, node: &Node) -> Option<&'static Table> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a phase");
            self.diagnostics.last_hint(EXAMPLE.to_owned());
            return None;
        };
        let verb = |name: &str| PHASES.iter().find(|table| table.verb() == name);
        let found = entries.iter().find_map(|entry| verb(&entry.key));
        if found.is_none() {
            let written = entries.first().map_or("", |entry| entry.key.as_str());
            let place = entries.first().map_or(&node.place, |entry| &entry.key_place);
            let names = PHASES.iter().map(Table::verb);
            let meant = translation::phase_meant(node).map(|phase| format!("write `{phase}`"));
            let hint = meant
                .or_else(|| other_tools::hint_for_phase(written).map(str::to_owned))
                .or_else(|| suggest::hint(written, "the phases are", names.clone()));
            self.diagnostics
                .error("unknown-phase", place, format!("`{written}` is not a phase"))
                .hint_some(hint);
            return PHASES.iter().find(|&table| {
                misspelt(table, written, |_| None) == Some(table.verb())
                    && suggest::nearest(written, names.clone()) == Some(table.verb())
            });
        }
        found
    }

    fn one_rate(&mut self, node: &Node, spacing: Spacing) -> Option<PhaseKind> {
        let rate = self.rate(node)?;
        if rate == 0.0 {
            self.diagnostics
                .error("bad-rate", &node.place, "no user would start at this rate")
                .hint("write `hold` for a phase without arrivals");
            return None;
        }
        Some(PhaseKind::Rate { from_per_s: rate, to_per_s: rate, spacing })
    }

    fn ramp(&mut self, node: &Node, fields: &Fields<'_>) -> Option<PhaseKind> {
        let spacing = self.spacing(fields);
        let (from_per_s, to_per_s) = self.unit(node, "bad-rate", "two rates", |text| {
            let Some((from, to)) = text.split_once("..") else {
                rate_in_range(text)?;
                return Err(UnitError {
                    message: format!("a ramp needs two rates, and `{text}` is one"),
                    hint: format!("write 0/s..{text} to start from zero, or `constant: {text}`"),
                });
            };
            let users = |error| ramp_of_users(text, error);
            let rate = |text: &str| rate_in_range(text.trim()).map_err(users);
            Ok((rate(from)?, rate(to)?))
        })?;
        Some(PhaseKind::Rate { from_per_s, to_per_s, spacing })
    }

    fn spacing(&mut self, fields: &Fields<'_>) -> Spacing {
        let node = fields.get_or_default("spacing");
        match node.and_then(|node| self.choice(&node, &["even", "poisson"])) {
            Some(1) => Spacing::Poisson,
            _ => Spacing::Even,
        }
    }

    fn flight(&mut self, node: &Node, fields: &Fields<'_>) -> Option<Vec<Piece>> {
        let each_ns = fields.get("each").and_then(|node| self.duration_ns(node));
        let spacing = self.spacing(fields);
        let rates = match node.sequence() {
            Some(items) => items.iter().filter_map(|item| self.rate(item)).collect(),
            None => self.rate_range(node)?,
        };
        if rates.is_empty() {
            self.diagnostics
                .error("empty", &node.place, "there is no rate")
                .hint("write [10/s, 20/s]");
        }
        if rates.len() > FLIGHT_MAX {
            let message = format!("these are more than {FLIGHT_MAX} steps");
            self.diagnostics.error("too-many-steps", &node.place, message).hint("widen `by`");
            return None;
        }
        let each_ns = each_ns?;
        let pieces = rates.into_iter().enumerate().map(|(index, rate)| Piece {
            label: Some((index + 1).to_string()),
            ..Piece::new(PhaseKind::Rate { from_per_s: rate, to_per_s: rate, spacing }, each_ns)
        });
        Some(pieces.collect())
    }

    /// `from`, `from + by`, … as far as `to`.
    fn rate_range(&mut self, node: &Node) -> Option<Vec<f64>> {
        let fields = self.fields(node, &STEP_RANGE, "`steps`")?;
        let mut read = |key| fields.get(key).and_then(|node| self.rate(node));
        let from = read("from");
        let to = read("to");
        let by = read("by");
        let from = from?;
        let to = to?;
        let by = by?;
        if by <= 0.0 {
            self.diagnostics.error("bad-rate", &node.place, "`by` must be above 0");
            return None;
        }
        // A little more than the exact quotient, so that rounding does not lose the last step.
        let count = ((to - from).abs() / by + 1e-9).floor();
        let count = (count as usize).min(FLIGHT_MAX) + 1;
        let by = if to < from { -by } else { by };
        Some((0..count).map(|step| (from + by * step as f64).max(0.0)).collect())
    }

    pub(super) fn phase_session(&mut self, node: &Node, cast: Cast<'_>) -> Option<SessionId> {
        let word = self.word(node, "a session's name")?;
        self.session_named(&word.text, &word.place, cast)
    }

    fn session_named(&mut self, name: &str, place: &Place, cast: Cast<'_>) -> Option<SessionId> {
        let found = cast.find(name);
        // Without any, that is what is wrong.
        if found.is_none() && !cast.sessions.is_empty() {
            let message = format!("there is no session `{name}`");
            let introduction = "the sessions are";
            self.unknown("unknown-session", place, message, name, introduction, cast.names());
        }
        found
    }
}

/// `0..9` is no ramp of rates, but one of users.
fn ramp_of_users(text: &str, error: UnitError) -> UnitError {
    let mut ends = text.split("..").map(str::trim);
    match ends.all(|end| units::parse::count(end).is_ok()) {
        true => UnitError {
            hint: format!("{}; for a number of users write `users: {text}`", error.hint),
            ..error
        },
        false => error,
    }
}

impl<'s> Timeline<'s> {
    /// `draws`: a number that no phase before has.
    pub(super) fn new(cast: Cast<'s>, mix: Mix, begin_ns: u64, draws: usize) -> Timeline<'s> {
        Timeline {
            cast,
            mix,
            phases: Vec::new(),
            singles: Vec::new(),
            made_names: HashMap::new(),
            end_ns: begin_ns,
            draws,
        }
    }

    fn push(&mut self, name: String, kind: PhaseKind, duration_ns: u64, limits: &Limits) {
        let start_ns = self.end_ns;
        self.end_ns = start_ns.saturating_add(duration_ns);
        let chooses = limits.session.is_some() || limits.weights.is_some();
        let (session, weights) = match chooses {
            true => (limits.session, &limits.weights),
            false => (self.mix.session, &self.mix.weights),
        };
        let weights = weights.clone();
        self.phases.push(Phase {
            name,
            kind,
            start_ns,
            duration_ns,
            session,
            weights,
            users_max: limits.users_max,
            iterations: limits.iterations,
            until_done: limits.until_done,
        });
    }

    /// The first session that a closed phase would start over and over without any wait.
    fn spinning(&self) -> Option<&Session> {
        let closed = |phase: &&Phase| matches!(phase.kind, PhaseKind::Closed(_));
        self.phases
            .iter()
            .filter(closed)
            .flat_map(|phase| self.sessions_of(phase))
            .find(|session| !wait_in(&session.ops))
    }

    /// `hold`, `hold-2`, …: the first `bare_count` of a name are not numbered.
    fn made_name(&mut self, name: &str, bare_count: u32) -> String {
        let count = self.made_names.entry(name.to_owned()).or_insert(0);
        *count += 1;
        if *count <= bare_count { name.to_owned() } else { format!("{name}-{count}") }
    }
}
