//! A client's report: the text that a benchmark printed at its end, colours included.

use std::collections::BTreeMap;

use record::import::{ClientReport, ReportedMeasure, ReportedPercentile};

use super::repairs::{Kind, Repairs};

/// The measures that reports have: their word, and our name and kind of it.
pub(crate) const MEASURES: &[(&str, &str, &str)] = &[
    ("Handshaking", "handshake", "handshake"),
    ("Latency", "request", "request"),
    ("Broadcast Latency", "broadcast", "message"),
];
/// Place of the handshake among them.
pub(crate) const HANDSHAKE: u16 = 0;
/// Nanoseconds of the reports' unit.
pub(crate) const MS: u64 = 1_000_000;
/// Greatest time that is believed, in milliseconds: a hundred years.
const MS_MAX: f64 = 3.2e12;

/// Figures of one row of the table of durations.
const COLUMNS: [&str; 6] = ["min", "mean", "stddev", "median", "max", "sampleCount"];

/// Which table the lines belong to.
#[derive(Debug, Clone, PartialEq)]
enum Section {
    Head,
    /// The columns' places in [`COLUMNS`].
    Durations(Vec<usize>),
    Percentiles(Vec<String>),
    Errors,
}

/// The lines read so far.
#[derive(Default)]
struct Draft {
    heads: BTreeMap<&'static str, u64>,
    /// By place in [`MEASURES`]; `None`: a figure of it cannot be read.
    durations: BTreeMap<u16, Option<[f64; 6]>>,
    percentiles: BTreeMap<u16, Option<Vec<ReportedPercentile>>>,
    errors: BTreeMap<String, u64>,
}

/// Reads a report; `name` is its file's for messages. The error says why this is none.
pub(crate) fn parse(text: &str, name: &str, repairs: &mut Repairs) -> Result<ClientReport, String> {
    let (text, codes) = without_ansi(text);
    repairs.add_many(Kind::AnsiColours, codes, || name.to_owned());
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut draft = Draft::default();
    let mut section = Section::Head;
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{name}:{}", number + 1);
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        section = match draft.line(line, section, &place, repairs) {
            Ok(next) => next,
            Err(why) => return Err(format!("line {}: {why}", number + 1)),
        };
    }
    draft.finish(name, repairs)
}

impl Draft {
    fn line(
        &mut self,
        line: &str,
        section: Section,
        place: &dyn Fn() -> String,
        repairs: &mut Repairs,
    ) -> Result<Section, String> {
        if let Some((table, unit)) = titled(line) {
            if unit != "ms" {
                return Err(format!("{table} are in {unit}, not in ms"));
            }
            return Ok(match table {
                "Durations" => Section::Durations(Vec::new()),
                _ => Section::Percentiles(Vec::new()),
            });
        }
        if line == "Received errors:" {
            return Ok(Section::Errors);
        }
        match section {
            Section::Head => {
                self.head(line);
                Ok(Section::Head)
            }
            Section::Durations(columns) if columns.is_empty() => {
                let found = line.split_whitespace();
                let known = found.map(|word| COLUMNS.iter().position(|&column| column == word));
                let columns: Option<Vec<usize>> = known.collect();
                let columns = columns.ok_or("the durations have other columns")?;
                Ok(Section::Durations(columns))
            }
            Section::Durations(columns) => {
                self.durations(line, &columns, place, repairs);
                Ok(Section::Durations(columns))
            }
            Section::Percentiles(labels) if labels.is_empty() => {
                let labels: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                let twins = labels.windows(2).filter(|pair| pair[0] == pair[1]).count();
                repairs.add_many(Kind::TwinColumn, twins as u64, place);
                Ok(Section::Percentiles(labels))
            }
            Section::Percentiles(labels) => {
                self.percentiles(line, &labels, place, repairs);
                Ok(Section::Percentiles(labels))
            }
            Section::Errors => {
                let parts = line.split_once("x ");
                match parts.and_then(|(n, what)| Some((n.trim().parse::<u64>().ok()?, what.trim())))
                {
                    Some((n, what)) => {
                        let count = self.errors.entry(what.to_owned()).or_default();
                        *count = count.saturating_add(n);
                    }
                    None => repairs.add(Kind::UnknownError, place),
                }
                Ok(Section::Errors)
            }
        }
    }

    /// A line above the tables; those that hold nothing that is kept are skipped.
    fn head(&mut self, line: &str) {
        const HEADS: [(&str, &str); 5] = [
            ("Launch bench with ", "planned"),
            ("Online ", "online"),
            ("Connected ", "connected"),
            ("Disconnected ", "disconnected"),
            ("Failed ", "failed"),
        ];
        for (words, key) in HEADS {
            let Some(rest) = line.strip_prefix(words) else {
                continue;
            };
            let digits = rest.trim_start();
            let end = digits.find(|c: char| !c.is_ascii_digit());
            if let Ok(n) = digits[..end.unwrap_or(digits.len())].parse() {
                self.heads.insert(key, n);
            }
        }
    }

    fn durations(
        &mut self,
        line: &str,
        columns: &[usize],
        place: &dyn Fn() -> String,
        repairs: &mut Repairs,
    ) {
        let Some((measure, cells)) = row(line, columns.len()) else {
            return repairs.add(Kind::UnknownMeasure, place);
        };
        if self.durations.contains_key(&measure) {
            return repairs.add(Kind::UnknownMeasure, place);
        }
        let mut figures = [f64::NAN; 6];
        for (&column, cell) in columns.iter().zip(&cells) {
            figures[column] = number(cell).unwrap_or(f64::NAN);
        }
        let sound = figures.iter().all(|figure| figure.is_finite()) && figures[5].fract() == 0.0;
        if !sound {
            repairs.add(Kind::BadNumber, place);
        }
        self.durations.insert(measure, sound.then_some(figures));
    }

    fn percentiles(
        &mut self,
        line: &str,
        labels: &[String],
        place: &dyn Fn() -> String,
        repairs: &mut Repairs,
    ) {
        let Some((measure, cells)) = row(line, labels.len()) else {
            return repairs.add(Kind::UnknownMeasure, place);
        };
        if self.percentiles.contains_key(&measure) {
            return repairs.add(Kind::UnknownMeasure, place);
        }
        let mut read = Vec::new();
        let mut before = "";
        for (label, cell) in labels.iter().zip(&cells) {
            let percent = label.strip_suffix('%').and_then(number);
            let share = percent.filter(|&p| p <= 100.0 && label != before);
            match number(cell) {
                Some(ms) => read.push(ReportedPercentile {
                    label: label.clone(),
                    share: share.map(|percent| percent / 100.0),
                    value_ns: ns(ms),
                }),
                None => repairs.add(Kind::BadNumber, place),
            }
            before = label;
        }
        let whole = read.len() == labels.len();
        self.percentiles.insert(measure, whole.then_some(read));
    }

    fn finish(mut self, name: &str, repairs: &mut Repairs) -> Result<ClientReport, String> {
        let place = || name.to_owned();
        let head = |key: &str| self.heads.get(key).copied();
        let heads_missing = ["planned", "online", "connected", "disconnected", "failed"]
            .iter()
            .any(|key| head(key).is_none());
        if self.durations.is_empty() && heads_missing {
            return Err("it contains no report".to_owned());
        }
        // Each measure has a row in both tables.
        let rows = |found: usize| found < MEASURES.len();
        if heads_missing || rows(self.durations.len()) || rows(self.percentiles.len()) {
            repairs.add(Kind::Truncated, place);
        }
        let mut measures = Vec::new();
        for (&measure, figures) in &self.durations {
            let percentiles = self.percentiles.remove(&measure).unwrap_or(Some(Vec::new()));
            let (Some(figures), Some(percentiles)) = (*figures, percentiles) else {
                continue;
            };
            let reported = reported_measure(measure, figures, percentiles, &place, repairs);
            measures.extend((reported.count > 0).then_some(reported));
        }
        let failed = head("failed").unwrap_or(0);
        let errors = self.errors.values().fold(0, |sum: u64, &n| sum.saturating_add(n));
        if errors != failed {
            repairs.add(Kind::FailedDisagrees, place);
        }
        let connected = head("connected").unwrap_or(0);
        let handshakes = measures.iter().find(|reported| reported.measure == HANDSHAKE);
        if handshakes.is_some_and(|reported| reported.count != connected) {
            repairs.add(Kind::ConnectedDisagrees, place);
        }
        Ok(ClientReport {
            region: String::new(),
            host: String::new(),
            users_planned: head("planned").unwrap_or(0),
            online_ns: head("online").unwrap_or(0).saturating_mul(MS),
            connected,
            disconnected: head("disconnected").unwrap_or(0),
            failed,
            errors: std::mem::take(&mut self.errors),
            measures,
        })
    }
}

fn reported_measure(
    measure: u16,
    [min, mean, deviation, median, max, count]: [f64; 6],
    mut percentiles: Vec<ReportedPercentile>,
    place: &dyn Fn() -> String,
    repairs: &mut Repairs,
) -> ReportedMeasure {
    let values = percentiles.iter().map(|p| p.value_ns);
    let row: Vec<u64> = [ns(min)].into_iter().chain(values).chain([ns(max)]).collect();
    let ascends = row.is_sorted() && (min..=max).contains(&mean) && (min..=max).contains(&median);
    if count > 0.0 && !ascends {
        repairs.add(Kind::Disorder, place);
        percentiles.iter_mut().for_each(|p| p.share = None);
    }
    ReportedMeasure {
        measure,
        count: count as u64,
        mean_ns: mean * MS as f64,
        deviation_ns: deviation * MS as f64,
        min_ns: ns(min),
        median_ns: ns(median),
        max_ns: ns(max),
        percentiles,
    }
}

/// `Durations (ms):` and `Percentile (ms):` with their units.
fn titled(line: &str) -> Option<(&'static str, &str)> {
    let tables = ["Durations", "Percentile"];
    tables.into_iter().find_map(|table| {
        let unit = line.strip_prefix(table)?.trim();
        Some((table, unit.strip_prefix('(')?.strip_suffix("):")?))
    })
}

/// A measure's place and its row's cells, which are the last words of the line.
fn row(line: &str, cells: usize) -> Option<(u16, Vec<&str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, cells) = words.split_at(words.len().checked_sub(cells)?);
    let name = name.join(" ");
    let at = MEASURES.iter().position(|measure| measure.0 == name)?;
    Some((at as u16, cells.to_vec()))
}

/// A figure that is no less than 0 and no more than can be.
fn number(text: &str) -> Option<f64> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    let value: f64 = text.parse().ok().filter(|_| digits)?;
    (0.0..=MS_MAX).contains(&value).then_some(value)
}

/// Nanoseconds of milliseconds that [`number`] let through.
fn ns(ms: f64) -> u64 {
    (ms * MS as f64).round() as u64
}

/// The text without its escape sequences (ECMA-48, CSI … final byte), and how many there were.
fn without_ansi(text: &str) -> (String, u64) {
    let mut clean = String::with_capacity(text.len());
    let mut count = 0;
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        clean.push_str(&rest[..at]);
        count += 1;
        let after = &rest[at + 1..];
        rest = match after.strip_prefix('[') {
            Some(body) => {
                let end = body.find(|c: char| ('\x40'..='\x7e').contains(&c));
                end.map_or("", |end| &body[end + 1..])
            }
            None => after,
        };
    }
    clean.push_str(rest);
    (clean, count)
}

#[cfg(test)]
mod tests;
