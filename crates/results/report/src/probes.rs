//! Probes as a table, with a section for each source and a line for each metric; and as JSON.

use judge::probes::{figures, shown};
use record::Probes;
use record::schema::{FORMAT_VERSION, RunInfo};
use serde_json::{Value, json};

use crate::style::{COLUMNS, INDENT};
use crate::style::{Line, Style};
use crate::table::Table;

/// All probes of a record. Lines end with `\n`.
pub fn probes(probes: &Probes, info: &RunInfo, style: Style) -> String {
    let found = figures(probes, i64::MIN, i64::MAX);
    let mut table = Table::new(&["metric", "values", "mean", "min", "max"]);
    let mut last = None;
    for probe in &found {
        let source = (&probe.info.role, &probe.info.region, &probe.info.source);
        if last != Some(source) {
            let words: Vec<&str> = [source.0, source.1, source.2]
                .into_iter()
                .map(String::as_str)
                .filter(|word| !word.is_empty())
                .collect();
            table.section(Line::default().text(words.join(" ")));
            last = Some(source);
        }
        let value = |number| (None, shown(number, &probe.info.unit));
        table.row(vec![
            (None, format!("{INDENT}{}", probe.info.metric)),
            (None, units::count(probe.count)),
            value(probe.mean),
            value(probe.min),
            value(probe.max),
        ]);
    }
    let length = units::span(info.ended_ns);
    let title = Line::default().text(format!("PROBES  {} in {length}", info.name));
    let mut text = title.render(COLUMNS, style) + "\n\n";
    for line in table.render(COLUMNS, style) {
        text += &line;
        text.push('\n');
    }
    text
}

/// The probes' figures for machines; `docs/probes.md` is the reference.
pub fn probes_json(probes: &Probes, info: &RunInfo) -> String {
    let found = figures(probes, i64::MIN, i64::MAX);
    let found = found.iter().map(|probe| {
        json!({
            "role": probe.info.role,
            "region": probe.info.region,
            "source": probe.info.source,
            "via": probe.info.via,
            "metric": probe.info.metric,
            "unit": probe.info.unit,
            "count": probe.count,
            "mean": probe.mean,
            "min": probe.min,
            "max": probe.max,
        })
    });
    crate::json(&json!({
        "format": FORMAT_VERSION,
        "id": info.id,
        "name": info.name,
        "started_unix_ns": info.started_unix_ns,
        "ended_ns": info.ended_ns,
        "probes": found.collect::<Vec<Value>>(),
    }))
}
