//! Imported results as text: findings, figures as the clients reported them, regions.

use judge::clients::{self, PooledMeasure, SHARES};
use record::import::Import;
use record::schema::{RunInfo, Summary};

use report::{COLUMNS, INDENT, Line, Style, Table, Tone, finding_lines, wrap};

/// The text on imported results. Lines end with `\n`.
pub fn imported(
    summary: &Summary,
    info: &RunInfo,
    import: &Import,
    directory: &str,
    style: Style,
) -> String {
    let clients = import.clients.len() as u64;
    let headline = Line::default()
        .tone(Tone::Strong, "IMPORTED")
        .text("  ")
        .tone(Tone::Strong, summary.name.clone())
        .text(format!("  {} in {}", units::counted(clients, "client"), units::span(info.ended_ns)));
    let mut lines = vec![headline.render(COLUMNS, style), String::new()];
    for finding in &summary.findings {
        lines.extend(finding_lines(finding, style));
    }
    lines.push(String::new());
    lines.extend(figures(summary, info, import).render(COLUMNS, style));
    lines.push(String::new());
    lines.extend(by_region(info, import).render(COLUMNS, style));
    lines.push(String::new());
    for absent in &import.absent {
        for (number, part) in wrap(absent, COLUMNS - 11).into_iter().enumerate() {
            let head = if number == 0 { "unknown" } else { "" };
            lines.push(foot(head, part).render(COLUMNS, style));
        }
    }
    let users = format!(
        "{} of {} planned connected",
        units::count(summary.users.connected),
        units::about(summary.users.planned)
    );
    lines.push(foot("users", users).render(COLUMNS, style));
    lines.push(foot("record", directory.to_owned()).render(COLUMNS, style));
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn foot(head: &str, text: String) -> Line {
    Line::default().tone(Tone::Dim, format!("{head:<11}")).text(text)
}

/// Each measure over all clients; the percentiles as bounds.
fn figures(summary: &Summary, info: &RunInfo, import: &Import) -> Table {
    let shares = SHARES.map(|share| format!("p{}", units::significant(100.0 * share, 2)));
    let mut header = vec!["reported", "count", "errors", "mean", "σ within", "σ of all", "min"];
    header.extend(shares.iter().map(String::as_str));
    header.push("max");
    let mut table = Table::new(&header);
    for (number, measure) in info.measures.iter().enumerate() {
        let errors = summary.measures.iter().find(|m| m.name == measure.name);
        let errors = errors.map_or(0, |m| m.errors);
        let place = u16::try_from(number).unwrap_or(u16::MAX);
        if let Some(measured) = clients::pool(import, place, |_| true) {
            table.row(row(&measure.name, errors, &measured));
        }
    }
    table
}

fn row(name: &str, errors: u64, measured: &PooledMeasure) -> Vec<(Option<Tone>, String)> {
    let pooled = &measured.pooled;
    let failed = (errors > 0).then_some(Tone::Bad);
    let mut cells = vec![
        (None, format!("{INDENT}{name}")),
        (None, units::count(pooled.count)),
        (failed, units::count(errors)),
        (None, units::duration(pooled.mean)),
        (None, units::duration(pooled.within)),
        (None, units::duration(pooled.total)),
        (None, units::duration(measured.min_ns as f64)),
    ];
    cells.extend(measured.bounds_ns.iter().map(|bounds| (None, between(*bounds))));
    cells.push((None, units::duration(measured.max_ns as f64)));
    cells
}

/// `16…781 ms`, `0.9…1.3 s`.
fn between(bounds: Option<(f64, f64)>) -> String {
    let Some((low, high)) = bounds else {
        return "–".to_owned();
    };
    if low == high {
        return units::duration(low);
    }
    let low = units::duration(low);
    let high = units::duration(high);
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}…{high}"),
        _ => format!("{low}…{high}"),
    }
}

/// Users and mean latencies by region.
fn by_region(info: &RunInfo, import: &Import) -> Table {
    let mut header = vec!["region", "clients", "planned", "failed"];
    header.extend(info.measures.iter().flat_map(|m| [m.name.as_str(), "mean"]));
    let mut table = Table::new(&header);
    for region in clients::regions(import) {
        let clients: Vec<_> = import.clients.iter().filter(|c| c.region == region).collect();
        let sum = |of: fn(&record::import::ClientReport) -> u64| {
            let sum = clients.iter().map(|client| of(client)).sum::<u64>();
            (None, units::count(sum))
        };
        let mut cells = vec![
            (None, format!("{INDENT}{region}")),
            sum(|_| 1),
            sum(|client| client.users_planned),
            sum(|client| client.failed),
        ];
        for number in 0..info.measures.len() {
            let place = u16::try_from(number).unwrap_or(u16::MAX);
            let measured = clients::pool(import, place, |client| client.region == region);
            let (count, mean) = match measured {
                Some(measured) => {
                    (units::count(measured.pooled.count), units::duration(measured.pooled.mean))
                }
                None => ("0".to_owned(), "–".to_owned()),
            };
            cells.extend([(None, count), (None, mean)]);
        }
        table.row(cells);
    }
    table
}
