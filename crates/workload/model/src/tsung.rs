//! Writes the model as a Tsung configuration (its manual, version 1.7, and `tsung-1.0.dtd`).
//!
//! Tsung has no chains and only exponential think times, but it has variables, random numbers, conditions and a loop.
//! A session's state is a variable; each round sends the state's request, draws the next state, and thinks. What Tsung
//! cannot express is noted, with what replaces it.

mod xml;

use crate::durations::Durations;
use crate::recorded::weights;
use crate::scenario::{drawn, inline_max, is_chain, names, number, target_of_sequence};
use crate::{ArrivalProcess, BuiltModel, Class, Model, Segment, Target};
use stats::fit::Family;
use xml::Xml;

/// Maximum number of phases: of more, neighbours are merged.
const PHASES_MAX: usize = 500;
/// A phase must start users: where none came, one in a thousand repetitions does.
const USERS_NONE: f64 = 0.001;
/// Draws are in millionths.
const DRAWS: u64 = 1_000_000;
/// Rounds of a session, each of a request or more.
const ROUNDS_MAX: u64 = 1_000;
/// Tsung's clock, seconds: a shorter think is none.
const THINK_MIN_S: f64 = 0.001;
/// The methods its document type has.
const METHODS: [&str; 19] = [
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "PROPFIND",
    "PROPPATCH",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "MKCOL",
    "MKACTIVITY",
    "OPTIONS",
    "REPORT",
    "VERSION-CONTROL",
    "MERGE",
    "CHECKOUT",
];

/// A file of Tsung's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tsung {
    /// The document.
    pub text: String,
    /// Features that Tsung cannot express, and what replaces them; a sentence each. The document
    /// has them, too.
    pub notes: Vec<String>,
}

/// The model as a document.
pub(crate) fn written(made: &BuiltModel) -> Tsung {
    let model = &made.model;
    let mut writer = Writer {
        model,
        xml: Xml::default(),
        thinks: 0,
        other_fits: 0,
        methods: Vec::new(),
        few: false,
    };
    writer.sessions();
    let phases = phases(made);
    let mut notes = writer.notes();
    notes.extend(of_arrivals(model, &phases));
    let mut head = Xml::default();
    head.line("<?xml version=\"1.0\"?>");
    head.line("<!DOCTYPE tsung SYSTEM \"/usr/share/tsung/tsung-1.0.dtd\">");
    let made_of = format!("Made by `throng model` from {} requests.", model.log.requests);
    head.comment(&made_of);
    for line in &notes {
        head.comment(line);
    }
    head.open("tsung", &[("loglevel", "notice"), ("version", "1.0")]);
    head.open("clients", &[]);
    let client = [("host", "localhost"), ("use_controller_vm", "true"), ("maxusers", "30000")];
    head.empty("client", &client);
    head.close("clients");
    head.open("servers", &[]);
    head.empty("server", &[("host", "127.0.0.1"), ("port", "8080"), ("type", "tcp")]);
    head.close("servers");
    load(&phases, &mut head);
    head.open("options", &[]);
    head.empty("option", &[("name", "seed"), ("value", &model.seed.to_string())]);
    head.close("options");
    head.append(&writer.xml);
    head.close("tsung");
    Tsung { text: head.text, notes }
}

/// Lengths in seconds, and users a second.
type Phases = Vec<(f64, f64)>;

fn phases(made: &BuiltModel) -> Phases {
    let arrivals = &made.model.arrivals;
    let span_s = arrivals.span_s;
    let hours = arrivals.hours().filter(|hours| !hours.is_weekly());
    let mut phases = match (arrivals.process, &made.whole, hours) {
        (ArrivalProcess::Trace, Some(bins), _) => binned(bins, arrivals.trace_bin_s as f64, span_s),
        (ArrivalProcess::Cycle, Some(bins), _) => binned(bins, 3_600.0, span_s),
        (ArrivalProcess::Cycle, None, Some(hours)) => hours
            .stretches(arrivals.local_s, span_s)
            .map(|(length_s, share)| (length_s, share * arrivals.rate_per_s))
            .collect(),
        _ => vec![(span_s, arrivals.rate_per_s)],
    };
    let together = phases.len().div_ceil(PHASES_MAX);
    if together > 1 {
        let sums = phases.chunks(together).map(|some| {
            let length_s: f64 = some.iter().map(|phase| phase.0).sum();
            let users: f64 = some.iter().map(|phase| phase.0 * phase.1).sum();
            (length_s, users / length_s)
        });
        phases = sums.collect();
    }
    phases
}

/// Users of each bin as phases; the last bin ends with the recording.
fn binned(bins: &[f64], bin_s: f64, span_s: f64) -> Phases {
    let phases = bins.iter().enumerate().map(|(place, &users)| {
        let length_s = bin_s.min(span_s - place as f64 * bin_s);
        (length_s, users / bin_s)
    });
    phases.filter(|phase| phase.0 > 0.0).collect()
}

fn of_arrivals(model: &Model, phases: &Phases) -> Option<String> {
    let empty = phases.iter().filter(|phase| phase.1 <= 0.0).count();
    let recorded = match model.arrivals.process {
        ArrivalProcess::Trace => format!(
            "users arrive as recorded: {} phases replace that, each a Poisson process of one rate",
            phases.len()
        ),
        ArrivalProcess::Poisson | ArrivalProcess::Cycle => String::new(),
    };
    let nobody = format!(
        "nobody came in {empty} phases, which Tsung cannot express: on average one user in a thousand repetitions does"
    );
    match (recorded.is_empty(), empty) {
        (true, 0) => None,
        (true, _) => Some(nobody),
        (false, 0) => Some(recorded),
        (false, _) => Some(format!("{recorded}; {nobody}")),
    }
}

fn load(phases: &Phases, out: &mut Xml) {
    out.open("load", &[]);
    for (place, &(length_s, rate_per_s)) in phases.iter().enumerate() {
        let phase = (place + 1).to_string();
        let duration = number(length_s);
        out.open("arrivalphase", &[("phase", &phase), ("duration", &duration), ("unit", "second")]);
        let rate = number(rate_per_s.max(USERS_NONE / length_s));
        out.empty("users", &[("arrivalrate", &rate), ("unit", "second")]);
        out.close("arrivalphase");
    }
    out.close("load");
}

struct Writer<'m> {
    model: &'m Model,
    xml: Xml,
    thinks: usize,
    /// Think times whose distribution is not exponential.
    other_fits: usize,
    /// Methods that Tsung lacks.
    methods: Vec<String>,
    /// Classes have more targets than are written.
    few: bool,
}

impl Writer<'_> {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.other_fits > 0 {
            notes.push(format!(
                "Tsung has exponential think times only: {} of {} have another distribution here, replaced by an \
                 exponential one of the same mean",
                self.other_fits, self.thinks
            ));
        }
        if self.few {
            notes.push(format!(
                "each class has only its {} most frequent targets",
                inline_max(self.model)
            ));
        }
        if !self.methods.is_empty() {
            notes.push(format!("Tsung does not know {}: replaced by GET", self.methods.join(", ")));
        }
        if self.model.segments.iter().any(|segment| segment.process.is_some()) {
            notes.push(
                "segments arrive by processes of their own: replaced by one process of all, whose users are drawn by \
                 weight"
                    .to_owned(),
            );
        }
        let lengths = |segment: &Segment| segment.behaviour.lengths.keys().last().copied();
        let segments = self.model.segments.iter();
        let chains = segments.filter(|segment| is_chain(self.model, segment));
        if chains.filter_map(lengths).max() >= Some(ROUNDS_MAX) {
            notes.push(format!("a session ends after {ROUNDS_MAX} requests; some had more"));
        }
        notes
    }

    fn sessions(&mut self) {
        self.xml.open("sessions", &[]);
        for (segment, name) in self.model.segments.iter().zip(names(self.model)) {
            match is_chain(self.model, segment) {
                true => self.chain(segment, &name),
                false => self.sequences(segment, &name),
            }
        }
        self.xml.close("sessions");
    }

    fn session(&mut self, name: &str, weight: f64) {
        let weight = number(weight);
        let attributes = [("name", name), ("weight", &weight), ("type", "ts_http")];
        self.xml.open("session", &attributes);
    }

    fn chain(&mut self, segment: &Segment, name: &str) {
        let behaviour = &segment.behaviour;
        let classes = &self.model.classes;
        self.session(name, segment.sessions as f64);
        let starts: Vec<(&str, u64)> = classes
            .iter()
            .zip(&behaviour.starts)
            .filter(|(_, count)| **count > 0)
            .map(|(class, &count)| (class.state.as_str(), count))
            .collect();
        self.draw("draw", DRAWS);
        let counts: Vec<u64> = starts.iter().map(|start| start.1).collect();
        self.set(starts.first().map_or(END, |start| start.0));
        for ((state, _), (above, upto)) in starts.iter().zip(shares(&counts)).skip(1) {
            self.within("draw", above, upto, |writer| writer.set(state));
        }
        let rounds = ROUNDS_MAX.to_string();
        self.xml.open("repeat", &[("name", "rounds"), ("max_repeat", &rounds)]);
        for (place, class) in classes.iter().enumerate() {
            let leaving: Vec<_> =
                behaviour.transitions.iter().filter(|t| t.from == place).collect();
            if leaving.is_empty() && behaviour.exits[place] == 0 {
                continue;
            }
            self.xml.open("if", &[("var", STATE), ("eq", &class.state)]);
            self.requests(class);
            self.set(END);
            let mut counts: Vec<u64> = leaving.iter().map(|t| t.count).collect();
            counts.push(behaviour.exits[place]);
            if !leaving.is_empty() {
                self.draw("draw", DRAWS);
            }
            let of_class = behaviour.class_thinks[place].as_ref();
            for (transition, (above, upto)) in leaving.iter().zip(shares(&counts)) {
                let think = transition.think.as_ref().or(of_class).unwrap_or(&behaviour.thinks);
                self.within("draw", above, upto, |writer| {
                    writer.set(&classes[transition.to].state);
                    writer.think(think);
                });
            }
            self.xml.close("if");
        }
        self.xml.empty("while", &[("var", STATE), ("neq", END)]);
        self.xml.close("repeat");
        self.xml.close("session");
    }

    /// Each recorded session as one of Tsung's.
    fn sequences(&mut self, segment: &Segment, name: &str) {
        let sequences = &segment.behaviour.sequences;
        let places: Vec<usize> = (0..sequences.len()).collect();
        let weights = weights(&segment.behaviour.lengths, sequences, &places);
        let sessions = segment.sessions as f64 / weights.iter().sum::<f64>();
        for ((number_of, sequence), weight) in sequences.iter().enumerate().zip(weights) {
            self.session(&format!("{name}-{}", number_of + 1), weight * sessions);
            for (place, &(class, before_s)) in sequence.iter().enumerate() {
                if place > 0 && before_s >= THINK_MIN_S {
                    self.xml.empty("thinktime", &[("value", &number(before_s))]);
                }
                let class = &self.model.classes[class];
                let target = target_of_sequence(self.model, &segment.behaviour, number_of, place);
                self.xml.open("transaction", &[("name", &class.state)]);
                self.request(target);
                self.xml.close("transaction");
            }
            self.xml.close("session");
        }
    }

    /// One of a class's targets, in a transaction of its name.
    fn requests(&mut self, class: &Class) {
        self.xml.open("transaction", &[("name", &class.state)]);
        let targets: Vec<&Target> = drawn(class).take(inline_max(self.model)).collect();
        self.few |= targets.len() < drawn(class).count();
        if let [only] = targets[..] {
            self.request(only);
        } else {
            let all: u64 = targets.iter().map(|target| target.weight).sum();
            self.draw("pick", all);
            let mut upto = 0;
            for target in targets {
                let above = upto;
                upto += target.weight;
                self.within("pick", above, upto, |writer| writer.request(target));
            }
        }
        self.xml.close("transaction");
    }

    fn request(&mut self, target: &Target) {
        let known = METHODS.contains(&target.method.as_str());
        if !known && !self.methods.contains(&target.method) {
            self.methods.push(target.method.clone());
        }
        let method = if known { &target.method } else { "GET" };
        self.xml.open("request", &[]);
        let attributes = [("url", target.target.as_str()), ("method", method), ("version", "1.1")];
        self.xml.empty("http", &attributes);
        self.xml.close("request");
    }

    fn think(&mut self, think: &Durations) {
        self.thinks += 1;
        let fit = think.chosen_fit();
        let mean_s = match fit {
            Some(fit) if fit.family == Family::Exponential => fit.value("mean"),
            _ => {
                self.other_fits += 1;
                think.mean_s
            }
        };
        if mean_s >= THINK_MIN_S {
            let value = number(mean_s);
            self.xml.empty("thinktime", &[("value", &value), ("random", "true")]);
        }
    }

    fn draw(&mut self, variable: &str, upto: u64) {
        let upto = upto.to_string();
        let attributes = [("sourcetype", "random_number"), ("start", "1"), ("end", &upto)];
        self.variable(&attributes, variable);
    }

    fn set(&mut self, state: &str) {
        self.variable(&[("sourcetype", "value"), ("value", state)], STATE);
    }

    fn variable(&mut self, attributes: &[(&str, &str)], name: &str) {
        self.xml.open("setdynvars", attributes);
        self.xml.empty("var", &[("name", name)]);
        self.xml.close("setdynvars");
    }

    /// Writes the part that is done if a draw is above the first number and not above the second.
    fn within(&mut self, draw: &str, above: u64, upto: u64, inner: impl FnOnce(&mut Self)) {
        if above == upto {
            return;
        }
        let above = above.to_string();
        let upto = upto.to_string();
        self.xml.open("if", &[("var", draw), ("gt", &above)]);
        self.xml.open("if", &[("var", draw), ("lte", &upto)]);
        inner(self);
        self.xml.close("if");
        self.xml.close("if");
    }
}

/// The variable with a session's state, and its last value.
const STATE: &str = "state";
const END: &str = "(end)";

/// The range of draws that each of these counts has: above, and up to.
fn shares(counts: &[u64]) -> Vec<(u64, u64)> {
    let all = u128::from(counts.iter().sum::<u64>().max(1));
    let mut upto = 0;
    let places = counts.iter().scan(0_u128, |sum, &count| {
        *sum += u128::from(count);
        Some(((*sum * u128::from(DRAWS) + all / 2) / all) as u64)
    });
    places
        .map(|place| {
            let above = std::mem::replace(&mut upto, place);
            (above, place)
        })
        .collect()
}
