//! Figures that follow from other printed ones, and how far these, being rounded, determine them.

use std::sync::LazyLock;

use plan::prices::Prices;
use rust_decimal::Decimal;
use stats::polygon;

use super::PublishedTables;
use super::agreement::{Reading, parse};
use judge::cost;

/// The price list of the thesis is one of the examples.
static PRICES: LazyLock<Prices> = LazyLock::new(|| {
    let text = include_str!("../../../../../examples/prices/aws-2015.yaml");
    let name = "aws-2015.yaml";
    let (prices, _) = scenario::document::prices(scenario::document::Source { name, text });
    prices.expect("the example is part of the program, and a test reads it")
});

/// A printed figure: what it can stand for, rounded or cut off.
#[derive(Debug, Clone, Copy)]
struct PrintedFigure {
    value: f64,
    low: f64,
    high: f64,
    /// The worth of one in its last digit.
    last: f64,
}

impl PrintedFigure {
    fn parse(text: &str) -> Option<PrintedFigure> {
        let (value, last) = parse(text)?;
        Some(PrintedFigure { value, low: value - last / 2.0, high: value + last, last })
    }

    /// Exactly this figure with as many decimals as another one is printed with.
    fn to_decimals_of(self, other: PrintedFigure) -> PrintedFigure {
        let value = (self.value / other.last).round() * other.last;
        PrintedFigure { value, low: value, high: value, last: other.last }
    }

    /// 1/x.
    fn inverse(self) -> PrintedFigure {
        PrintedFigure {
            value: 1.0 / self.value,
            low: 1.0 / self.high,
            high: 1.0 / self.low.max(f64::MIN_POSITIVE),
            last: 0.0,
        }
    }
}

/// The computed figure of a row; `None` if it does not follow from printed figures.
pub(super) fn reading(published: &PublishedTables, id: &str, system: usize) -> Option<Reading> {
    let printed = |table, id: &str| PrintedFigure::parse(published.printed(table, id, system)?);
    if let Some(item) = id.strip_prefix("cost:") {
        let name = &published.systems.get(system)?.id;
        let cost = cost::cost(&PRICES, name, None).ok()?;
        let (_, sum) = cost.items.into_iter().find(|found| found.0 == item)?;
        return Some(Reading::exactly(f64(sum)?));
    }
    match id.split_once('-').unwrap_or((id, "")) {
        ("spm", which) => spm(which, printed),
        ("crum", "min") => crum_min(printed),
        ("slm", _) => slm(printed),
        ("cost", "total") => total(published, system),
        ("sec", which) => sec(which, printed),
        ("ess", _) => ess(printed),
        _ => None,
    }
}

/// A polygon of printed radii. It grows with each of them, so that its bounds are those of all.
fn polygon_of(radii: &[PrintedFigure], scale: f64) -> Option<Reading> {
    let area = |of: fn(&PrintedFigure) -> f64| {
        polygon::area(&radii.iter().map(of).collect::<Vec<_>>()).map(|area| area * scale)
    };
    let mut reading = Reading::exactly(area(|radius| radius.value)?);
    reading.range = (area(|radius| radius.low)?, area(|radius| radius.high)?);
    Some(reading)
}

/// Latencies inverse, network as it is, in the order of the text.
fn spm(
    which: &str,
    printed: impl Fn(&'static str, &str) -> Option<PrintedFigure>,
) -> Option<Reading> {
    let with = |latency: &str| {
        let mut radii = Vec::new();
        for measure in ["handshake", "request", "broadcast"] {
            radii.push(printed("8.4", &format!("{measure}-{latency}"))?.inverse());
        }
        radii.push(printed("8.4", &format!("in-{which}"))?);
        radii.push(printed("8.4", &format!("out-{which}"))?);
        polygon_of(&radii, 1.0)
    };
    let mut reading = with(match which {
        "min" => "p98",
        "avg" => "avg",
        _ => "min",
    })?;
    if which == "max" {
        let words = "with the 98th percentiles in place of the least latencies";
        let range = with("p98")?.range;
        reading.others.push((words.to_owned(), range));
    }
    Some(reading)
}

/// From the printed least inputs, as if they fell into one minute.
fn crum_min(printed: impl Fn(&'static str, &str) -> Option<PrintedFigure>) -> Option<Reading> {
    let mut radii = Vec::new();
    for id in ["cpu-min", "memory-min", "disk-min"] {
        radii.push(printed("8.3", id)?);
    }
    let mut reading = polygon_of(&radii, 1.0)?;
    reading.note = Some("the least inputs need not fall into one minute".to_owned());
    Some(reading)
}

fn slm(printed: impl Fn(&'static str, &str) -> Option<PrintedFigure>) -> Option<Reading> {
    let mut radii = Vec::new();
    for id in ["connected", "requests", "redis-hits", "mysql-queries"] {
        radii.push(printed("8.5", id)?);
    }
    let mut reading = polygon_of(&radii, 1e-12)?;
    let values: Vec<f64> = radii.iter().map(|radius| radius.value).collect();
    let (least, most) = polygon::area_range(&values)?;
    let least = least * 1e-12;
    let most = most * 1e-12;
    reading.note = Some(format!(
        "the order of the four inputs can make it {least:.3} to {most:.3}, but not this"
    ));
    Some(reading)
}

/// The sum of the items as they are printed, decimal.
fn total(published: &PublishedTables, system: usize) -> Option<Reading> {
    let table = published.tables.iter().find(|table| table.number == "8.6")?;
    let items = table.rows.iter().filter(|row| row.id.starts_with("cost:"));
    let printed = items.map(|row| row.printed.get(system)?.as_ref()?.parse::<Decimal>().ok());
    let sum: Option<Decimal> = printed.sum();
    Some(Reading::exactly(f64(sum?)?))
}

/// Load, performance, use and hours on a dollar, in this order. Load went in with as many decimals as
/// the table has that it is printed in again, though not with the value that stands there.
fn sec(
    which: &str,
    printed: impl Fn(&'static str, &str) -> Option<PrintedFigure>,
) -> Option<Reading> {
    let load = printed("8.5", "slm")?.to_decimals_of(printed("8.7", "slm")?);
    let of = |which: &str, crum: &str| {
        let radii = [
            load,
            printed("8.4", &format!("spm-{which}"))?,
            printed("8.3", &format!("crum-{crum}"))?,
            printed("8.6", "cost-total")?.inverse(),
        ];
        polygon_of(&radii, 1.0)
    };
    let mut reading = of(which, which)?;
    for other in ["min", "avg", "max"].into_iter().filter(|&other| other != which) {
        let words = format!("with CRUM {other} in place of CRUM {which}");
        reading.others.push((words, of(which, other)?.range));
    }
    Some(reading)
}

/// (SPMmax − SPMmin)/(SECmax − SECmin).
fn ess(printed: impl Fn(&'static str, &str) -> Option<PrintedFigure>) -> Option<Reading> {
    let most = printed("8.4", "spm-max")?;
    let least = printed("8.4", "spm-min")?;
    let above = printed("8.7", "sec-max")?;
    let below = printed("8.7", "sec-min")?;
    let mut reading = Reading::exactly((most.value - least.value) / (above.value - below.value));
    reading.range = (
        (most.low - least.high) / (above.high - below.low),
        (most.high - least.low) / (above.low - below.high),
    );
    Some(reading)
}

/// A sum of money as a figure to be compared with another.
fn f64(sum: Decimal) -> Option<f64> {
    sum.to_string().parse().ok()
}
