//! The targets of a class's requests: one, a choice of a few, or a file with the sample of the log.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use stats::rng::{Purpose, Rng};

use super::{is_chain, quoted};
use crate::{Behaviour, Class, Model, Target};

/// Targets of a class that stand in the scenario itself, where there is one segment, and where there are many:
/// more are in a file beside it.
const INLINE_FEW: usize = 12;
const INLINE_MANY: usize = 3;
/// The variable with the target of the next request, and the column of the files.
const TARGET: &str = "requested";

/// How many of a class's targets may stand in the scenario itself.
pub(crate) fn inline_max(model: &Model) -> usize {
    if model.segments.len() > 4 { INLINE_MANY } else { INLINE_FEW }
}

/// The targets that a class draws: not those of recorded sequences alone.
pub(crate) fn drawn(class: &Class) -> impl Iterator<Item = &Target> {
    class.targets.iter().filter(|target| target.weight > 0)
}

/// The targets of a class that are in a file, as that stands for them: one method's.
struct Table<'m> {
    name: String,
    method: &'m str,
    targets: Vec<&'m Target>,
}

impl Table<'_> {
    fn file(&self) -> String {
        format!("targets-{}.csv", self.name)
    }

    fn weight(&self) -> u64 {
        self.targets.iter().map(|target| target.weight).sum()
    }
}

/// The tables of a class, by method; none where its targets stand in the scenario itself.
fn tables<'m>(model: &'m Model, class: &'m Class) -> Vec<Table<'m>> {
    if drawn(class).count() <= inline_max(model) {
        return Vec::new();
    }
    let mut methods: BTreeMap<&str, Vec<&Target>> = BTreeMap::new();
    for target in drawn(class) {
        methods.entry(&target.method).or_default().push(target);
    }
    let one = methods.len() == 1;
    let table = |(number, (method, targets)): (usize, (&'m str, Vec<&'m Target>))| Table {
        name: match one {
            true => class.state.clone(),
            // No state has two of these in a row.
            false => format!("{}__{}", class.state, number + 1),
        },
        method,
        targets,
    };
    methods.into_iter().enumerate().map(table).collect()
}

/// The tables of all classes that chains come to.
fn all_tables(model: &Model) -> impl Iterator<Item = Table<'_>> {
    let chains = move || model.segments.iter().filter(|s| is_chain(model, s));
    let seen = move |class: usize| {
        chains().any(|segment| {
            let behaviour = &segment.behaviour;
            behaviour.exits[class] > 0 || behaviour.transitions.iter().any(|t| t.from == class)
        })
    };
    let classes = model.classes.iter().enumerate();
    classes.filter(move |(place, _)| seen(*place)).flat_map(|(_, class)| tables(model, class))
}

/// The files of targets that the scenario names, each with its text: a line for each request of the sample.
pub(crate) fn files(model: &Model) -> impl Iterator<Item = (String, String)> {
    all_tables(model).map(|table| {
        let mut text = format!("{TARGET}\n");
        for target in &table.targets {
            let cell = match target.target.contains([',', '"']) {
                true => format!("\"{}\"", target.target.replace('"', "\"\"")),
                false => target.target.clone(),
            };
            for _ in 0..target.weight {
                text.push_str(&cell);
                text.push('\n');
            }
        }
        (table.file(), text)
    })
}

/// The top-level key, where there are such files.
pub(super) fn data(model: &Model, out: &mut String) {
    for (number, table) in all_tables(model).enumerate() {
        if number == 0 {
            out.push_str("# Targets of classes that have many, as often as in the log.\ndata:\n");
        }
        let _ = writeln!(out, "  {}: {{ file: {}, order: random }}", table.name, table.file());
    }
}

/// A request of a class, drawn among its targets.
pub(super) fn request(model: &Model, class: &Class, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    let tables = tables(model, class);
    if let [only] = &tables[..] {
        let [feed, step] = fed_request(class, only);
        let _ = write!(out, "{pad}- {feed}\n{pad}- {step}\n");
        return;
    }
    let mut parts: Vec<(u64, String)> = Vec::new();
    for table in &tables {
        parts.push((table.weight(), fed_request(class, table).join(", ")));
    }
    if tables.is_empty() {
        let targets = drawn(class).map(|target| (target.weight, step(class, target)));
        parts.extend(targets);
    }
    if let [(_, only)] = &parts[..] {
        let _ = writeln!(out, "{pad}- {only}");
        return;
    }
    let _ = writeln!(out, "{pad}- choose:");
    for (weight, steps) in parts {
        let _ = writeln!(out, "{pad}    - {{ weight: {weight}, steps: [ {steps} ] }}");
    }
}

fn fed_request(class: &Class, table: &Table<'_>) -> [String; 2] {
    let path = format!("\"${{raw({TARGET})}}\"");
    let request = match verb(table.method) {
        Some(verb) => format!("{verb}: {path}"),
        None => format!("http: \"{} ${{raw({TARGET})}}\"", table.method),
    };
    [format!("{{ feed: {} }}", table.name), format!("{{ {request}, {} }}", measured_as(class))]
}

/// A request for one target.
pub(super) fn step(class: &Class, target: &Target) -> String {
    let path = target.target.replace("${", "%24%7B");
    let request = match verb(&target.method) {
        Some(verb) => format!("{verb}: {}", quoted(&path)),
        None => format!("http: {}", quoted(&format!("{} {path}", target.method))),
    };
    format!("{{ {request}, {} }}", measured_as(class))
}

/// The step that is called as the method is.
fn verb(method: &str) -> Option<String> {
    let verb = method.to_ascii_lowercase();
    ["get", "head", "post", "put", "patch", "delete"].contains(&verb.as_str()).then_some(verb)
}

/// The measure of a class, and the statuses that are not errors: those from 400 to 499 that the log
/// has.
fn measured_as(class: &Class) -> String {
    let name = quoted(&class.name);
    let statuses: Vec<String> = class
        .statuses
        .keys()
        .filter(|status| (400..500).contains(*status))
        .map(u16::to_string)
        .collect();
    match statuses.is_empty() {
        true => format!("as: {name}"),
        false => format!("as: {name}, status: [100..399, {}]", statuses.join(", ")),
    }
}

/// The target of a request of a recorded session: its own, or if that is unknown one of its class, drawn by weight.
pub(crate) fn target_of_sequence<'m>(
    model: &'m Model,
    behaviour: &Behaviour,
    sequence: usize,
    place: usize,
) -> &'m Target {
    let class = &model.classes[behaviour.sequences[sequence][place].0];
    let known = behaviour.sequence_targets.get(sequence);
    if let Some(&target) = known.and_then(|targets| targets.get(place)) {
        return &class.targets[target];
    }
    let all: u64 = drawn(class).map(|target| target.weight).sum();
    let number = (sequence << 32 | place) as u64;
    let mut draw = Rng::new(model.seed, number, Purpose::Choice).below(all.max(1));
    let found = drawn(class).find(|target| {
        let found = draw < target.weight;
        draw = draw.saturating_sub(target.weight);
        found
    });
    found.unwrap_or(&class.targets[0])
}
