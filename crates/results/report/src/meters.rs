//! Meters as text: published, normalised, and their inputs.

use judge::cost::{Cost, Usage};
use judge::meters::{HostResources, InputValue, Joining, MeterValue, RunMeters};

use crate::style::{COLUMNS, INDENT};
use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;

/// Significant digits of a meter: published ones are compared digit by digit.
const DIGITS: usize = 6;
/// Decimals of money.
const MONEY_DECIMALS: u32 = 6;

/// The text on all runs. Lines end with `\n`.
pub fn meters(runs: &[RunMeters], reference: &str, style: Style) -> String {
    let mut lines = Vec::new();
    for run in runs {
        let line = Line::default().tone(Tone::Strong, run.name.clone());
        let line = match run.name == reference {
            true => line.tone(Tone::Dim, "  the reference of the normalised form"),
            false => line,
        };
        lines.push(line.render(COLUMNS, style));
        lines.extend(values(&run.meters).render(COLUMNS, style));
        lines.push(String::new());
        lines.extend(inputs(&run.meters).render(COLUMNS, style));
        let joined = run.meters.iter().filter_map(joined);
        lines
            .extend(joined.flat_map(|text| wrapped(&text)).map(|line| line.render(COLUMNS, style)));
        lines.extend(whole(run).iter().map(|line| line.render(COLUMNS, style)));
        if !run.hosts.is_empty() {
            lines.push(String::new());
            lines.extend(hosts(&run.hosts).render(COLUMNS, style));
        }
        lines.push(String::new());
    }
    lines.push(
        "Published: the area of the polygon of the inputs in their order; least and most are those of all \
         orders."
            .to_owned(),
    );
    lines.push(
        "Normalised: the weighted geometric mean of the inputs as multiples of the reference's; more is \
         better, and the reference is 1."
            .to_owned(),
    );
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn number(value: f64) -> String {
    units::significant(value, DIGITS)
}

/// The meters themselves.
fn values(meters: &[MeterValue]) -> Table {
    let header = ["meter", "min", "avg", "max", "least", "most", "mean order", "normalised"];
    let mut table = Table::new(&header);
    for meter in meters {
        let name = match meter.moments {
            Some(moments) => {
                format!("{INDENT}{} ({})", meter.name, units::counted(moments as u64, "moment"))
            }
            None => format!("{INDENT}{}", meter.name),
        };
        let normalised = meter.normalised.map_or("–".to_owned(), number);
        table.row(vec![
            (None, name),
            (None, number(meter.published.worst)),
            (None, number(meter.published.mean)),
            (None, number(meter.published.best)),
            (Some(Tone::Dim), number(meter.orders.0)),
            (Some(Tone::Dim), number(meter.orders.1)),
            (Some(Tone::Dim), number(meter.order_free)),
            (Some(Tone::Strong), normalised),
        ]);
    }
    table
}

/// The inputs, and how much each counts.
fn inputs(meters: &[MeterValue]) -> Table {
    let header = ["input", "worst", "mean", "best", "unit", "elasticity", "× reference", "weight"];
    let mut table = Table::new(&header);
    for meter in meters {
        table.section(Line::default().tone(Tone::Dim, format!("{INDENT}{}", meter.name)));
        for input in &meter.inputs {
            table.row(input_cells(input));
        }
    }
    table
}

fn input_cells(input: &InputValue) -> Vec<(Option<Tone>, String)> {
    // The change of the published meter, in per cent, if the input grows by one per cent.
    let moves = input.elasticity.map_or("–".to_owned(), |e| format!("{e:.4} %/%"));
    let ratio = input.ratio.map_or("–".to_owned(), number);
    vec![
        (None, format!("{INDENT}{INDENT}{}", input.name)),
        (None, number(input.radius.worst)),
        (None, number(input.radius.mean)),
        (None, number(input.radius.best)),
        (None, input.unit.clone()),
        (None, moves),
        (None, ratio),
        (None, units::percent(input.weight)),
    ]
}

/// The resources that each host used.
fn hosts(hosts: &[HostResources]) -> Table {
    let header = ["host", "CPU", "of cores", "memory", "sent", "received", "read", "written"];
    let mut table = Table::new(&header);
    for host in hosts {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        let rate =
            |bytes: Option<f64>| or_dash(bytes.map(|b| format!("{}/s", units::bytes(b as u64))));
        table.row(vec![
            (None, format!("{INDENT}{}", host.host)),
            (None, or_dash(host.cpu.map(|cores| units::significant(cores, 3)))),
            (Some(Tone::Dim), or_dash(host.cores.map(|cores| units::significant(cores, 3)))),
            (None, or_dash(host.memory.map(|bytes| units::bytes(bytes as u64)))),
            (None, rate(host.sent)),
            (None, rate(host.received)),
            (None, rate(host.disk_read)),
            (None, rate(host.disk_written)),
        ]);
    }
    table
}

/// How the probes of a meter came to the same moments; `None`: they were read at them.
fn joined(meter: &MeterValue) -> Option<String> {
    let of = |joining: Joining| {
        let inputs = meter.inputs.iter().filter(|input| input.joining == Some(joining));
        let names: Vec<&str> = inputs.map(|input| input.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let kinds = [
        (Joining::Carried, "carried: each value holds since the reading before it"),
        (Joining::Interpolated, "interpolated between two readings"),
        (Joining::Mixed, "carried or interpolated, by metric"),
    ];
    let kinds = kinds
        .into_iter()
        .filter_map(|(joining, words)| of(joining).map(|names| format!("{names} ({words})")));
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() {
        return None;
    }
    let moments = match &meter.moments_of {
        Some(source) => format!("at the moments of {source}"),
        None => "at the moments of one of them".to_owned(),
    };
    let kinds = kinds.join("; ");
    Some(format!("{}: sources read at different times are compared {moments}: {kinds}", meter.name))
}

fn wrapped(text: &str) -> Vec<Line> {
    let lines = wrap(text, COLUMNS - INDENT.len()).into_iter();
    lines.map(|line| Line::default().text(INDENT).tone(Tone::Dim, line)).collect()
}

/// Scalability and cost of a run.
fn whole(run: &RunMeters) -> Vec<Line> {
    let line = |head: &str, text: String| {
        Line::default().text(INDENT).tone(Tone::Dim, format!("{head:<11}")).text(text)
    };
    let mut lines = Vec::new();
    if let Some(esr) = run.esr {
        lines.push(line("ESR", format!("{} = SECmax − SECmin", number(esr))));
    }
    if let Some(ess) = run.ess {
        lines.push(line(
            "ESS",
            format!("{} = [SL/SLmin]/[SEC/SECmin], min over all runs", number(ess)),
        ));
    }
    if let Some(ess) = run.ess_ranges {
        let text = format!("{} = (SPMmax − SPMmin)/(SECmax − SECmin)", number(ess));
        lines.push(line("ESS ranges", text));
    }
    if let Some((cost, usage)) = &run.cost {
        lines.extend(costs(cost, usage).into_iter().map(|text| line("cost", text)));
    }
    lines
}

pub(crate) fn costs(cost: &Cost, usage: &Usage) -> Vec<String> {
    let currency = &cost.currency;
    let money = |sum: &judge::cost::Money| sum.round_dp(MONEY_DECIMALS).normalize();
    let items = cost.items.iter().map(|(name, sum)| format!("{name} {}", money(sum)));
    let items = items.collect::<Vec<_>>().join(", ");
    let mut texts = vec![format!("{} {currency} per hour: {items}", money(&cost.per_hour))];
    let mut rates = Vec::new();
    if let Some(hours) = cost.hours_per_money() {
        rates.push(format!("{} hours for 1 {currency}", number(hours)));
    }
    if let Some(per) = cost.per_million_requests(usage) {
        rates.push(format!("{} {currency} per million requests", number(per)));
    }
    if let Some(per) = cost.per_user_hour(usage) {
        rates.push(format!("{} {currency} per user and hour", number(per)));
    }
    if !rates.is_empty() {
        texts.push(rates.join(", "));
    }
    texts
}
