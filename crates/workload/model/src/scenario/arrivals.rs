//! The scenario's arrivals: one process for all users, or one for each segment.

use std::fmt::Write as _;

use super::{names, number, rate_name};
use crate::arrivals::{Arrivals, Hours};
use crate::{ArrivalProcess, Model, TRACE_FILE, trace_file};

/// A process as an item of the arrivals.
struct Item<'m> {
    process: ArrivalProcess,
    hours: Option<Hours<'m>>,
    /// The arrivals that the process belongs to.
    arrivals: &'m Arrivals,
    /// Users a second, as an expression.
    rate: String,
    /// The file of its trace, where it has one.
    file: String,
    /// The session that its users run; `None`: any, drawn by weight.
    session: Option<&'m str>,
}

/// Whether segments arrive apart.
pub(super) fn apart(model: &Model) -> bool {
    model.segments.iter().any(|segment| segment.process.is_some())
}

/// Whether users arrive by the numbers of a file.
pub(super) fn uses_trace(model: &Model) -> bool {
    let names = names(model);
    items(model, &names).iter().any(Item::is_trace)
}

/// The top-level key.
pub(super) fn arrivals(model: &Model, names: &[String], out: &mut String) {
    out.push_str("arrivals:\n");
    let items = items(model, names);
    let pad = match apart(model) {
        true => {
            out.push_str("  # each segment arrives by its own process\n  - together:\n");
            "      "
        }
        false => "  ",
    };
    for item in &items {
        item.write(pad, out);
    }
}

fn items<'m>(model: &'m Model, names: &'m [String]) -> Vec<Item<'m>> {
    let whole = &model.arrivals;
    let of_segments = model.segments.iter().zip(names).filter_map(|(segment, name)| {
        let process = segment.process?;
        let own = segment.arrivals.as_ref().unwrap_or(whole);
        Some(Item {
            process: process.kind,
            hours: process.hours(own, whole),
            arrivals: own,
            rate: rate_name(name),
            file: trace_file(name),
            session: Some(name),
        })
    });
    let of_segments: Vec<Item> = of_segments.collect();
    if !of_segments.is_empty() {
        return of_segments;
    }
    vec![Item {
        process: whole.process,
        hours: whole.hours(),
        arrivals: whole,
        rate: "rate".to_owned(),
        file: TRACE_FILE.to_owned(),
        session: None,
    }]
}

impl Item<'_> {
    fn is_trace(&self) -> bool {
        match self.process {
            ArrivalProcess::Poisson => false,
            ArrivalProcess::Cycle => self.hours.as_ref().is_some_and(Hours::is_weekly),
            ArrivalProcess::Trace => true,
        }
    }

    fn write(&self, pad: &str, out: &mut String) {
        let rate = &self.rate;
        let session = self.session.map(|name| format!("session: {name}"));
        let last = |before: &str| {
            let session = session.as_ref().map(|text| format!("{before}{text}"));
            session.unwrap_or_default()
        };
        let length = "for: \"${seconds / speed}s\"";
        match self.hours {
            _ if self.is_trace() => {
                let (bin, spacing) = match self.process {
                    ArrivalProcess::Trace => (format!("{}s", self.arrivals.trace_bin_s), "even"),
                    _ => ("1h".to_owned(), "poisson"),
                };
                let _ = writeln!(
                    out,
                    "{pad}- trace: {}\n{pad}  bin: {bin}\n{pad}  spacing: {spacing}\n{pad}  speed: \"${{speed}}\"\n\
                     {pad}  scale: \"${{{rate} * users / {}}}\"\n{pad}  from: \"${{begin}}s\"\n{pad}  {length}{}",
                    self.file,
                    number(self.arrivals.rate_per_s),
                    last(&format!("\n{pad}  "))
                );
            }
            Some(hours) if self.process == ArrivalProcess::Cycle => {
                let _ = writeln!(
                    out,
                    "{pad}# rates by the hour, each a multiple of `{rate}`, the mean rate of the recording\n{pad}- rates:"
                );
                for hour in 0..24 {
                    let share = number(hours.share(hour * 3600));
                    let _ = writeln!(
                        out,
                        "{pad}    \"{hour:02}:00\": \"${{{share} * {rate} * users * speed}}/s\""
                    );
                }
                let clock = self.arrivals.local_s.rem_euclid(86_400) / 60;
                let _ = writeln!(
                    out,
                    "{pad}  from: \"{:02}:{:02}\"\n{pad}  between: step\n{pad}  spacing: poisson\n\
                     {pad}  speed: \"${{speed}}\"\n{pad}  {length}{}",
                    clock / 60,
                    clock % 60,
                    last(&format!("\n{pad}  "))
                );
            }
            _ => {
                let _ = writeln!(
                    out,
                    "{pad}- {{ poisson: \"${{{rate} * users * speed}}/s\", {length}{} }}",
                    last(", ")
                );
            }
        }
    }
}
