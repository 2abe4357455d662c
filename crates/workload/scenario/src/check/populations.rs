//! Populations side by side: what they consist of, the sessions of each, and the phases of the run.
//!
//! A session that several populations run is compiled once for each: the tags of a measure are known before a run, so that
//! a tag by population costs nothing while it goes on.

use std::collections::BTreeSet;

use plan::{NamedPopulation, POPULATION, Phase, PhaseKind, Session, Single, Tags};

use super::Checker;
use super::arrivals::{Timeline, USERS_MAX};
use super::cast::{Cast, Mix, Role};
use super::fields::Fields;
use crate::document::node::{Entry, Node, Place};
use crate::document::yaml;
use crate::keys::POPULATION as POPULATION_KEYS;

/// Most populations of a scenario: every start looks for the earliest of them.
const POPULATIONS_MAX: usize = 64;

/// A population as it is written.
pub(super) struct PopulationEntry<'n> {
    /// Empty: that of the scenario's own arrivals.
    name: String,
    /// Where its arrivals stand.
    place: &'n Place,
    arrivals: Option<&'n Node>,
    session: Option<&'n Node>,
    sessions: Option<&'n Node>,
    /// The tags of all that its users measure.
    tags: Tags,
    running: SessionNames<'n>,
    /// What became of each session of the scenario, once they are compiled.
    roles: Vec<Role>,
}

/// How users come, as a plan has it.
#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) phases: Vec<Phase>,
    pub(super) populations: Vec<NamedPopulation>,
    pub(super) singles: Vec<Single>,
}

/// Names of sessions that phases choose.
#[derive(Default)]
struct SessionNames<'n> {
    names: BTreeSet<&'n str>,
    /// Any session of the scenario may be meant.
    is_any: bool,
}

impl Arrivals {
    /// How many users are expected to start.
    pub(super) fn users_planned(&self) -> f64 {
        let of_population = |phases: &[Phase]| phases.iter().map(Phase::users_planned).sum::<f64>();
        let users = match self.populations.is_empty() {
            true => of_population(&self.phases),
            false => self.populations.iter().map(|one| of_population(&one.phases)).sum(),
        };
        users + self.singles.len() as f64
    }
}

impl<'n> SessionNames<'n> {
    /// Adds those that a phase or a population chooses; false: it chooses none.
    fn add_chosen(&mut self, node: &'n Node) -> bool {
        if let Some(session) = node.get("session") {
            let name = session.text().filter(|text| !text.contains("${"));
            self.names.extend(name);
            self.is_any |= name.is_none();
            return true;
        }
        let Some(weights) = node.get("sessions") else {
            return false;
        };
        match weights.mapping() {
            Some(entries) => self.names.extend(entries.iter().map(|entry| entry.key.as_str())),
            None => self.is_any = true,
        }
        true
    }

    /// Adds those of phases; of one that chooses none those of the population.
    fn add_of_phases(&mut self, arrivals: &'n Node, of_population: &SessionNames<'n>) {
        for item in arrivals.sequence().unwrap_or_default() {
            if let Some(beside) = item.get("together") {
                self.add_of_phases(beside, of_population);
            } else if item.get("hold").is_none() && !self.add_chosen(item) {
                self.names.extend(&of_population.names);
                self.is_any |= of_population.is_any;
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.is_any || self.names.contains(name)
    }
}

impl<'n> PopulationEntry<'n> {
    fn new(name: &str, place: &'n Place, arrivals: Option<&'n Node>) -> PopulationEntry<'n> {
        PopulationEntry {
            name: name.to_owned(),
            place,
            arrivals,
            session: None,
            sessions: None,
            tags: Tags::new(),
            running: SessionNames::default(),
            roles: Vec::new(),
        }
    }

    /// Finds the sessions that its users may run. `node`: what it chooses for phases that choose none.
    fn find_running(&mut self, node: Option<&'n Node>) {
        let mut own = SessionNames::default();
        let chooses = node.is_some_and(|node| own.add_chosen(node));
        own.is_any |= !chooses;
        match self.arrivals {
            Some(arrivals) => self.running.add_of_phases(arrivals, &own),
            // What is wrong is that they are missing, not the sessions.
            None => self.running = own,
        }
    }
}

impl Checker<'_> {
    /// Reads the populations; that of the scenario's own arrivals is the first. None: there is one, without a name.
    pub(super) fn populations<'n>(&mut self, fields: &Fields<'n>) -> Vec<PopulationEntry<'n>> {
        let Some(node) = fields.get("populations").filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of populations (`browsers: { arrivals: [ … ] }`)");
            return Vec::new();
        };
        if entries.is_empty() {
            self.diagnostics.error("empty", &node.place, "there is no population").hint(
                "write `populations: { browsers: { arrivals: [ { users: 50, for: 5m } ] } }`",
            );
        }
        if entries.len() > POPULATIONS_MAX {
            let count = entries.len();
            let message =
                format!("{count} populations are too many: there are at most {POPULATIONS_MAX}");
            self.diagnostics.error("too-many-populations", &node.place, message);
            return Vec::new();
        }
        self.has_populations = true;
        let arrivals = fields.get("arrivals").zip(fields.key_place("arrivals"));
        let unnamed = arrivals.map(|(node, place)| {
            let mut unnamed = PopulationEntry::new("", place, Some(node));
            unnamed.find_running(None);
            unnamed
        });
        let named = entries.iter().filter_map(|entry| self.population(entry));
        unnamed.into_iter().chain(named).collect()
    }

    fn population<'n>(&mut self, entry: &'n Entry) -> Option<PopulationEntry<'n>> {
        let Entry { key, key_place, value } = entry;
        let fields = self.fields(value, &POPULATION_KEYS, &format!("population `{key}`"))?;
        let place = fields.key_place("arrivals").unwrap_or(key_place);
        let mut population = PopulationEntry::new(key, place, fields.get("arrivals"));
        population.session = fields.get("session");
        population.sessions = fields.get("sessions");
        if let (Some(_), Some(place)) = (population.session, fields.key_place("sessions")) {
            let message = "a population has either `session` or `sessions`";
            self.diagnostics.error("misplaced-key", place, message);
        }
        population.find_running(Some(value));
        let before = self.enter_tags(fields.get("tags"));
        if self.is_tag_value(key, "the name of a population", key_place) {
            self.tags.insert(POPULATION.to_owned(), key.clone());
            self.count_totals(key_place);
        }
        population.tags = std::mem::replace(&mut self.tags, before);
        Some(population)
    }

    /// Compiles the sessions, each once for every population that runs it.
    pub(super) fn sessions_of(
        &mut self,
        entries: &[Entry],
        populations: &mut [PopulationEntry<'_>],
    ) -> Vec<Session> {
        if populations.is_empty() {
            return entries.iter().map(|entry| self.session(entry)).collect();
        }
        if !self.may_be_copied(entries, populations) {
            return Vec::new();
        }
        let mut sessions: Vec<Session> = Vec::new();
        for entry in entries {
            let first = sessions.len();
            let running = populations.iter().filter(|one| one.running.has(&entry.key)).count();
            for population in populations.iter_mut() {
                let is_run = population.running.has(&entry.key);
                let session = is_run.then(|| super::index(sessions.len()));
                population.roles.push(Role::new(&entry.key, session));
                if is_run {
                    sessions.push(self.session_of(entry, population, running));
                }
            }
            // One that nobody runs is looked at all the same.
            if sessions.len() == first {
                sessions.push(self.session(entry));
            }
        }
        sessions
    }

    /// A session as this population runs it; `running`: the number of populations that do.
    fn session_of(
        &mut self,
        entry: &Entry,
        population: &PopulationEntry<'_>,
        running: usize,
    ) -> Session {
        let reported = self.diagnostics.count();
        let before = std::mem::replace(&mut self.tags, population.tags.clone());
        let mut session = self.session(entry);
        self.tags = before;
        // What is wrong with it is wrong in each.
        self.diagnostics.drop_repeated(reported);
        if running > 1 && !population.name.is_empty() {
            session.name = format!("{} ({})", session.name, population.name);
        }
        session
    }

    /// Copies of sessions count as if each stood in the text, whose limit bounds what is numbered.
    fn may_be_copied(&mut self, entries: &[Entry], populations: &[PopulationEntry<'_>]) -> bool {
        let copies = |entry: &Entry| {
            let running = populations.iter().filter(|one| one.running.has(&entry.key)).count();
            yaml::size(&entry.value) * running.max(1)
        };
        let size: usize = entries.iter().map(copies).sum();
        let is_small = size <= yaml::NODES_MAX;
        if !is_small {
            let message = format!(
                "the sessions of all populations have {size} values together, more than {}",
                yaml::NODES_MAX
            );
            let place = populations.first().map_or(Place::at(0..0), |one| one.place.clone());
            self.diagnostics
                .error("too-large", &place, message)
                .hint("let each population run the sessions alone that it needs: `session: NAME`");
        }
        is_small
    }

    /// The arrivals of all populations.
    pub(super) fn arrivals_of(
        &mut self,
        fields: &Fields<'_>,
        sessions: &[Session],
        populations: &[PopulationEntry<'_>],
    ) -> Arrivals {
        if !populations.is_empty() {
            return self.side_by_side(sessions, populations);
        }
        let Some((node, place)) = fields.get("arrivals").zip(fields.key_place("arrivals")) else {
            return Arrivals::default();
        };
        let numbered = sessions.iter().enumerate();
        let roles = numbered.map(|(at, one)| Role::new(&one.name, Some(super::index(at))));
        let roles: Vec<Role> = roles.collect();
        let cast = Cast { sessions, roles: &roles };
        let timeline = Timeline::new(cast, Mix::default(), 0, 0);
        let Timeline { phases, singles, .. } = self.arrivals(node, place, timeline);
        Arrivals { phases, singles, populations: Vec::new() }
    }

    fn side_by_side(
        &mut self,
        sessions: &[Session],
        populations: &[PopulationEntry<'_>],
    ) -> Arrivals {
        let mut all = Arrivals::default();
        let mut draws = 0;
        for population in populations {
            let cast = Cast { sessions, roles: &population.roles };
            let mix = self.mix(population, cast);
            let mut timeline = Timeline::new(cast, mix, 0, draws);
            if let Some(node) = population.arrivals {
                timeline = self.arrivals(node, population.place, timeline);
            }
            draws += timeline.phases.len();
            let singles_count = timeline.singles.len() as u64;
            all.singles.extend(timeline.singles);
            let name = population.name.clone();
            let phases = timeline.phases;
            all.populations.push(NamedPopulation { name, phases, singles_count });
        }
        all.singles.sort_by_key(|single| single.due_ns);
        all.phases = phases_of_run(&all.populations);
        let beside = all.populations.iter().skip(1).flat_map(|one| &one.phases);
        self.phases_beside = beside.map(|phase| phase.name.clone()).collect();
        self.plausible_together(populations, &all);
        self.leaves_early(sessions, populations, &all);
        all
    }

    /// What users of a population run in phases that choose nothing.
    fn mix(&mut self, population: &PopulationEntry<'_>, cast: Cast<'_>) -> Mix {
        let session = population.session.and_then(|node| self.phase_session(node, cast));
        let is_weighted = session.is_none();
        let weights = match population.sessions.filter(|_| is_weighted) {
            Some(node) => self.phase_weights(node, cast),
            None => is_weighted.then(|| cast.weights()),
        };
        Mix { session, weights }
    }

    /// The limit over all populations, each of which keeps it.
    fn plausible_together(&mut self, populations: &[PopulationEntry<'_>], all: &Arrivals) {
        let users = all.users_planned();
        let of_one =
            |one: &NamedPopulation| one.phases.iter().map(Phase::users_planned).sum::<f64>();
        let is_said = all.populations.iter().any(|one| of_one(one) > USERS_MAX);
        let Some(first) = populations.first().filter(|_| users > USERS_MAX && !is_said) else {
            return;
        };
        let message = format!("all populations together start {users:.0} users");
        self.diagnostics
            .error("too-many-users", first.place, message)
            .hint("a run can have 50 million at most: lower a rate or a duration");
    }

    /// Warns of closed populations that would stay after their end: those in a loop that never ends.
    fn leaves_early(
        &mut self,
        sessions: &[Session],
        populations: &[PopulationEntry<'_>],
        all: &Arrivals,
    ) {
        let end_ns = all.phases.last().map_or(0, Phase::end_ns);
        for (written, population) in populations.iter().zip(&all.populations) {
            let last = population.phases.last();
            let last = last
                .filter(|last| matches!(last.kind, PhaseKind::Closed(_)) && last.end_ns() < end_ns);
            let cast = Cast { sessions, roles: &written.roles };
            let timeline = Timeline::new(cast, Mix::default(), 0, 0);
            let mut running = last.into_iter().flat_map(|last| timeline.sessions_of(last));
            if let Some(session) = running.find(|session| session.has_endless_loop()) {
                let message = format!(
                    "population `{}` ends before the run does, but users of session `{}` leave only when it ends, and \
                     its loop never does",
                    population.name, session.name
                );
                self.diagnostics.warning("never-leaves", written.place, message).hint(
                    "remove the `forever`: a closed population starts its sessions again anyway",
                );
            }
        }
    }
}

/// The phases of the run: those of the first population, and a `hold` while others last longer.
fn phases_of_run(populations: &[NamedPopulation]) -> Vec<Phase> {
    let mut phases = populations.first().map_or_else(Vec::new, |first| first.phases.clone());
    // When the run is over follows from all populations.
    phases.iter_mut().for_each(|phase| phase.until_done = false);
    let start_ns = phases.last().map_or(0, Phase::end_ns);
    let lasts = populations.iter().filter_map(|population| population.phases.last());
    let end_ns = lasts.map(Phase::end_ns).max().unwrap_or(0);
    if end_ns > start_ns {
        let is_free = |name: &String| phases.iter().all(|phase| phase.name != *name);
        let numbered = (2..).map(|number: u64| format!("hold-{number}"));
        let name = std::iter::once("hold".to_owned()).chain(numbered).find(is_free);
        phases.push(Phase {
            name: name.expect("there are more numbers than phases"),
            kind: PhaseKind::Hold,
            start_ns,
            duration_ns: end_ns - start_ns,
            session: None,
            weights: None,
            users_max: None,
            iterations: None,
            until_done: false,
        });
    }
    phases
}
