//! All tables of keys, and how the documentation shows them.

use crate::check::STEPS;
use crate::keys::{
    CLAIM, COMPARE, DIST, DOCUMENT, Default, EXPERIMENT, FACTOR, Kind, PHASES, PROBES, PUBLISHED,
    PUBLISHED_VALUE, RESPONSE, SINGLE, Table,
};

/// Steps whose keys are those of `get`, so that the documentation shows them once.
const LIKE_GET: &[&str] = &["head", "post", "put", "patch", "delete"];

/// The tables that the documentation shows: a name and the rows in Markdown.
pub fn reference() -> Vec<(&'static str, String)> {
    let tables = all_tables().into_iter();
    let shown = tables.filter(|table| !LIKE_GET.contains(&table.name));
    shown.map(|table| (table.name, markdown(table))).collect()
}

/// The tables that the documentation of experiments shows, as [`reference()`] does.
pub fn experiment_reference() -> Vec<(&'static str, String)> {
    let shown = experiment_tables().into_iter();
    shown.map(|table| (table.name, markdown(table))).collect()
}

/// Every table of experiments.
pub(crate) fn experiment_tables() -> [&'static Table; 7] {
    [&EXPERIMENT, &FACTOR, &RESPONSE, &PUBLISHED, &PUBLISHED_VALUE, &CLAIM, &COMPARE]
}

/// Every table of the language, once.
pub(crate) fn all_tables() -> Vec<&'static Table> {
    let steps = STEPS.iter().map(|step| step.keys);
    // No key leads to these: a word of the language stands for them, or nothing does.
    let roots = [&DOCUMENT, &SINGLE, &DIST].into_iter().chain(steps);
    let mut found = Vec::new();
    for table in roots.chain(PHASES).chain(PROBES) {
        add(table, &mut found);
    }
    found
}

/// Adds a table and those that its keys lead to.
fn add(table: &'static Table, found: &mut Vec<&'static Table>) {
    if found.iter().any(|known| std::ptr::eq(*known, table)) {
        return;
    }
    found.push(table);
    for key in table.keys() {
        add_from(&key.kind, found);
    }
}

fn add_from(kind: &'static Kind, found: &mut Vec<&'static Table>) {
    match kind {
        Kind::Mapping(table) => add(table, found),
        Kind::List(of) | Kind::OneOrMore(of) | Kind::Map(of) => add_from(of, found),
        Kind::Any(kinds) => {
            for kind in *kinds {
                add_from(kind, found);
            }
        }
        _ => {}
    }
}

fn markdown(table: &Table) -> String {
    let mut rows = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    for key in table.keys() {
        let default = match key.default {
            Default::Required => "required".to_owned(),
            Default::RequiredWithout(other) => format!("required without `{other}`"),
            Default::Absent => "–".to_owned(),
            Default::Text(text) => format!("`{text}`"),
            Default::Said(said) => said.to_owned(),
        };
        let row =
            format!("| `{}` | {} | {default} | {} |\n", key.name, key.kind.described(), key.doc);
        rows.push_str(&row);
    }
    rows
}
