//! `setup` and `teardown`: steps that run once, before and after the users.
//!
//! Their measures are their own, so that none of the users' figures has anything of them.

use crate::keys::SETUP;
use plan::{MeasureKind, Once, Session};

use super::fields::Fields;
use super::populations::PopulationEntry;
use super::program::Program;
use super::{Checker, connects};
use crate::document::node::{Node, Place};

/// The limit of time where none is written, as the table of keys says.
const TIME_LIMIT_NS: u64 = 60_000_000_000;

/// The steps of a scenario that run once.
pub(super) struct OnceEach {
    pub(super) setup: Option<Box<Once>>,
    pub(super) teardown: Option<Box<Once>>,
}

impl OnceEach {
    pub(super) fn sessions(&mut self) -> impl Iterator<Item = &mut Session> {
        let each = [&mut self.setup, &mut self.teardown].into_iter().flatten();
        each.map(|once| &mut once.session)
    }
}

impl Checker<'_> {
    /// All steps of a scenario: those of its users, and those that run once.
    pub(super) fn programs(
        &mut self,
        fields: &Fields<'_>,
        populations: &mut [PopulationEntry<'_>],
    ) -> (Vec<Session>, OnceEach) {
        let setup = self.setup(fields);
        let sessions = fields.get("sessions");
        let sessions = sessions.map_or_else(Vec::new, |node| self.sessions(node, populations));
        let teardown = self.teardown(fields);
        (sessions, OnceEach { setup, teardown })
    }

    /// Steps that are to make what users need: the first failed one ends them. Users can read their variables from here on.
    fn setup(&mut self, fields: &Fields<'_>) -> Option<Box<Once>> {
        let setup = self.once(fields, "setup", true)?;
        self.shared.clone_from(&setup.session.slot_names);
        Some(setup)
    }

    /// Steps that are to remove it: they go on after a failed one as sessions do.
    fn teardown(&mut self, fields: &Fields<'_>) -> Option<Box<Once>> {
        self.once(fields, "teardown", false)
    }

    fn once(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        is_strict: bool,
    ) -> Option<Box<Once>> {
        let node = fields.get(name).filter(|node| !node.is_null())?;
        let place = fields.key_place(name).unwrap_or(&node.place);
        let measures = std::mem::replace(&mut self.measures, vec![connects()]);
        let places = std::mem::replace(&mut self.measure_places, vec![Place::at(0..0)]);
        let totals = std::mem::take(&mut self.totals);
        let (steps, time_limit_ns, cookies) = self.once_parts(node, name);
        self.between.alone = Some(name);
        let mut program = Program::at_line(self.diagnostics.line_of(place));
        if is_strict {
            let measure = self.measure(name, MeasureKind::Transaction, place);
            self.attempts_at(measure, 1, steps, None, None, &mut program);
        } else if let Some(steps) = steps {
            self.steps(steps, &mut program);
        }
        self.between.alone = None;
        let session = program.into_session(name, 1.0, cookies);
        if session.has_endless_loop() {
            self.diagnostics
                .error("endless", place, format!("`{name}` never ends"))
                .hint("its steps run once: leave out `forever`");
        }
        self.name_measures_by_tags();
        let of_it = std::slice::from_ref(&session);
        let faults = self.faults(of_it);
        let redirects = self.redirects_measure(of_it);
        self.totals = totals;
        self.measure_places = places;
        Some(Box::new(Once {
            session,
            measures: std::mem::replace(&mut self.measures, measures),
            faults,
            redirects,
            time_limit_ns,
            is_last: !is_strict,
        }))
    }

    /// The steps, their limit of time, and whether they store cookies.
    fn once_parts<'n>(&mut self, node: &'n Node, name: &str) -> (Option<&'n Node>, u64, bool) {
        if node.mapping().is_none() {
            return (Some(node), TIME_LIMIT_NS, self.cookies);
        }
        let Some(fields) = self.fields(node, &SETUP, &format!("`{name}`")) else {
            return (None, TIME_LIMIT_NS, self.cookies);
        };
        let limit = fields.get_or_default("time_limit");
        let limit_ns = limit.and_then(|node| self.duration_ns(&node));
        let cookies = fields.get("cookies").and_then(|node| self.bool(node));
        let cookies = cookies.unwrap_or(self.cookies);
        (fields.get("steps"), limit_ns.unwrap_or(TIME_LIMIT_NS), cookies)
    }

    /// Whether all users share a variable of this name, so that none can set it; reports it.
    pub(super) fn is_shared(&mut self, name: &str, place: &Place) -> bool {
        let is_shared = self.shared.iter().any(|shared| shared == name);
        if is_shared {
            let message =
                format!("`{name}` is set by `setup` for all users and cannot be set here");
            self.diagnostics.error("bad-name", place, message).hint("choose another name");
        }
        is_shared
    }
}

impl Program {
    /// The program, complete.
    pub(super) fn into_session(self, name: &str, weight: f64, cookies: bool) -> Session {
        Session {
            name: name.to_owned(),
            file: None,
            weight,
            cookies,
            slots_count: super::index(self.slot_names.len()),
            registers_count: self.registers_count(),
            slot_names: self.slot_names,
            secret_slots: Vec::new(),
            visits: self.visits,
            transactions: self.transactions,
            retries: self.retries,
            ops: self.ops,
            lines: self.lines,
        }
    }
}
