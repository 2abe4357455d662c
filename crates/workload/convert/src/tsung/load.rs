//! `<load>`: how users arrive.

use roxmltree::Node;

use super::attributes::value_at;
use super::sessions::Program;
use super::text;
use super::{Importer, Item, Map, elements, opening};

/// Longest time for the last users to finish, if nothing in the document bounds it.
const FINISH_S_MAX: f64 = 24.0 * 3600.0;
/// Least time for the last users to finish, besides their pauses.
const FINISH_S_MIN: f64 = 60.0;
/// How often a load may be repeated; what it makes is limited besides.
const LOOPS_MAX: u64 = 10_000;

/// A phase of the document.
struct Phase {
    number: u64,
    map: Map,
    /// Length of the phase, which is in `map` under `for`.
    length_s: f64,
}

impl Importer<'_> {
    pub(super) fn arrivals(&mut self, node: Node<'_, '_>, programs: &[Program]) -> Vec<Map> {
        self.known_attributes(node);
        let mut phases = Vec::new();
        let mut out = Vec::new();
        for part in elements(node) {
            self.known_attributes(part);
            match part.tag_name().name() {
                "arrivalphase" => phases.extend(self.phase(part, programs)),
                "user" => self.single(part, programs, &mut out),
                _ => self.unknown_element(part),
            }
        }
        phases.sort_by_key(|phase| phase.number);
        let whole_s = self.number(node, "duration").map(|n| n * self.unit_s(node));
        let rounds = self.count(node, "loop").unwrap_or(0).min(LOOPS_MAX) + 1;
        let mut end_s = 0.0;
        'rounds: for round in 0..rounds {
            for phase in &phases {
                let mut map = phase.map.clone();
                let left_s = whole_s.map_or(f64::INFINITY, |whole_s| whole_s - end_s);
                if left_s <= 0.0 {
                    break 'rounds;
                }
                if left_s < phase.length_s
                    && let Some(length) = map.get_mut("for")
                {
                    *length = Item::Bare(text::seconds(left_s));
                    map.comments.push("Cut off by the load's own duration.".to_owned());
                }
                let again = if round > 0 { format!("-again-{round}") } else { String::new() };
                map.put("name", Item::Text(format!("phase-{}{again}", phase.number)));
                end_s += phase.length_s.min(left_s);
                out.push(map);
            }
        }
        out.extend(self.finish(node, whole_s.map(|whole_s| whole_s - end_s), programs));
        if out.is_empty() {
            let message = "there is no phase".to_owned();
            self.diagnostics
                .error("missing-element", opening(node), message)
                .hint("write <arrivalphase phase=\"1\" duration=\"1\" unit=\"minute\">");
        }
        out
    }

    /// Tsung's test lasts until the last user has finished, or for the load's own duration.
    fn finish(
        &mut self,
        node: Node<'_, '_>,
        left_s: Option<f64>,
        programs: &[Program],
    ) -> Option<Map> {
        let (length_s, why) = match left_s {
            Some(left_s) if left_s <= 0.0 => return None,
            Some(left_s) => (left_s, "The load's own duration bounds the test."),
            None => {
                let pauses_s = programs.iter().map(|p| p.longest_s).fold(0.0, f64::max);
                (
                    (pauses_s + FINISH_S_MIN).ceil().min(FINISH_S_MAX),
                    "Ends when the last user has finished, or when all sessions should have ended.",
                )
            }
        };
        Some(
            Map::single(opening(node), "hold", Item::Bare(text::seconds(length_s)))
                .with("until", Item::Text("done".to_owned()))
                .with("name", Item::Text("finish".to_owned()))
                .comment(why),
        )
    }

    fn phase(&mut self, node: Node<'_, '_>, programs: &[Program]) -> Option<Phase> {
        self.required(node, "duration");
        self.required(node, "phase");
        let number = self.count(node, "phase");
        let length_s = self.number(node, "duration").map(|n| n * self.unit_s(node));
        if self.flag(node, "wait_all_sessions_end", false) {
            let message = "phases follow one another by the clock".to_owned();
            self.diagnostics.lost(value_at(node, "wait_all_sessions_end"), message);
        }
        let mut rate = None;
        let mut users_max = None;
        let mut weights = Map::new(opening(node));
        for part in elements(node) {
            self.known_attributes(part);
            match part.tag_name().name() {
                "users" => {
                    rate = self.rate(part);
                    users_max = self.count(part, "maxnumber");
                }
                "session_setup" => self.session_setup(part, programs, &mut weights),
                _ => self.unknown_element(part),
            }
        }
        let number = number?;
        let length_s = length_s?;
        if length_s == 0.0 {
            let message = "the phase has no duration".to_owned();
            self.diagnostics.error("bad-number", value_at(node, "duration"), message);
        }
        let length = Item::Bare(text::seconds(length_s));
        let mut map = match rate {
            Some(rate) => {
                Map::single(opening(node), "poisson", Item::Bare(rate)).with("for", length)
            }
            None => {
                let message = "the phase starts no users".to_owned();
                self.diagnostics
                    .error("missing-element", opening(node), message)
                    .hint("write <users arrivalrate=\"10\" unit=\"second\"/>");
                return None;
            }
        };
        if let Some(users_max) = users_max {
            map.put("users_max", Item::Bare(users_max.to_string()));
        }
        if !weights.entries.is_empty() {
            map.put("sessions", Item::Map(weights));
        }
        Some(Phase { number, map, length_s })
    }

    /// The mean rate, as scenarios write it.
    fn rate(&mut self, node: Node<'_, '_>) -> Option<String> {
        let unit = match self.word(node, "unit", &["second", "minute", "hour"]) {
            Some("minute") => "min",
            Some("hour") => "h",
            _ => "s",
        };
        let (name, rate) =
            match (self.number(node, "arrivalrate"), self.number(node, "interarrival")) {
                (Some(rate), _) => ("arrivalrate", rate),
                (None, Some(gap)) => ("interarrival", 1.0 / gap),
                (None, None) => {
                    if !node.has_attribute("arrivalrate") && !node.has_attribute("interarrival") {
                        self.required(node, "arrivalrate");
                    }
                    return None;
                }
            };
        if !(rate > 0.0 && rate.is_finite()) {
            let message = "this rate starts no users, or all users at once".to_owned();
            self.diagnostics
                .error("bad-number", value_at(node, name), message)
                .hint("write a number above 0");
            return None;
        }
        Some(format!("{rate}/{unit}"))
    }

    fn session_setup(&mut self, node: Node<'_, '_>, programs: &[Program], weights: &mut Map) {
        let Some(name) = self.required(node, "name") else {
            return;
        };
        let weight = match self.number(node, "probability") {
            None => self.number(node, "weight"),
            found => found,
        };
        for program in self.sessions_named(node, "name", name, programs) {
            weights.put(&program, Item::Bare(text::number(weight.unwrap_or(0.0))));
        }
    }

    /// The sessions that a name means, which may end in `*`; reports it if there is none.
    fn sessions_named(
        &mut self,
        node: Node<'_, '_>,
        attribute: &str,
        name: &str,
        programs: &[Program],
    ) -> Vec<String> {
        let fits = |program: &&Program| match name.strip_suffix('*') {
            Some(prefix) => program.name.starts_with(prefix),
            None => program.name == name,
        };
        let found: Vec<String> = programs.iter().filter(fits).map(|p| p.name.clone()).collect();
        if found.is_empty() {
            let names = programs.iter().map(|program| program.name.as_str());
            let hint = scenario::document::suggest::hint(name, "the sessions are", names);
            let message = format!("there is no session `{name}`");
            self.diagnostics
                .error("unknown-session", value_at(node, attribute), message)
                .hint_some(hint);
        }
        found
    }

    fn single(&mut self, node: Node<'_, '_>, programs: &[Program], out: &mut Vec<Map>) {
        let Some(name) = self.required(node, "session") else {
            return;
        };
        let start_s = self.number(node, "start_time").unwrap_or(0.0) * self.unit_s(node);
        for session in self.sessions_named(node, "session", name, programs) {
            let at = Item::Bare(text::seconds(start_s));
            out.push(Map::single(opening(node), "at", at).with("session", Item::Text(session)));
        }
    }
}
