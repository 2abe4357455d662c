//! The clocks that stamp messages: do they differ from ours by more than the latencies bear?
//!
//! A message that arrives before it was stamped proves that they do. Replies with a stamp say by how much,
//! to half of their shortest round trip (Cristian 1989).

use record::schema::{ClockSummary, EventKind, MeasureInfo};

use crate::figures::Figures;
use crate::limits::CLOCK_OF_LATENCY_MAX;

/// Suffix of the measure that counts the messages of another one that were stamped later than they arrived.
const AHEAD: &str = ".ahead";
/// Latencies by the stamps of a measure: its own, and those of its first and last receivers, also of a region.
const STAMPED: [&str; 4] = ["", ".first", ".last", ".reached"];

/// The clocks of which anything is known, in the order of their measures.
pub(crate) fn summarise(figures: &Figures) -> Vec<ClockSummary> {
    let measures = figures.info.measures.iter().enumerate();
    let clocks = measures.filter_map(|(number, measure)| {
        let name = measure.name.strip_suffix(AHEAD)?;
        let cell = figures.cell(None, number);
        let is_it = |m: &MeasureInfo| m.kind == "message" && m.over_regions() == name;
        if measure.kind != "message" || !figures.info.measures.iter().any(is_it) {
            return None;
        }
        let mut clock = ClockSummary {
            measure: name.to_owned(),
            offset_ns: None,
            bound_ns: None,
            replies: 0,
            ahead: cell.ended(),
            ahead_max_ns: cell.response.max(),
            corrected: false,
        };
        for event in &figures.events {
            compared(&mut clock, &event.what);
        }
        (clock.ahead > 0 || clock.replies > 0).then_some(clock)
    });
    clocks.collect()
}

/// Takes what an event says of the clock.
fn compared(clock: &mut ClockSummary, what: &EventKind) {
    if let EventKind::ClockCompared { measure, offset_ns, bound_ns, replies, corrected } = what
        && *measure == clock.measure
    {
        clock.offset_ns = Some(*offset_ns);
        clock.bound_ns = Some(*bound_ns);
        clock.replies = *replies;
        clock.corrected = *corrected;
    }
}

/// The least by which a clock is known to be off: by its replies, and by messages from the future.
fn off_ns(clock: &ClockSummary) -> u64 {
    let shown = clock.offset_ns.zip(clock.bound_ns);
    let shown = shown.map_or(0, |(offset, bound)| offset.unsigned_abs().saturating_sub(bound));
    shown.max(clock.ahead_max_ns)
}

/// True if latencies by this clock say nothing: it is off by more than a part of their median, and they are
/// not corrected.
pub(crate) fn misleads(figures: &Figures, clock: &ClockSummary) -> bool {
    if clock.corrected {
        return false;
    }
    let measures = figures.info.measures.iter().enumerate();
    let measures = measures.filter(|(_, m)| m.over_regions() == clock.measure);
    let measures: Vec<usize> = measures.map(|(number, _)| number).collect();
    let response = figures.merged(None, &measures).response;
    let median_ns = match response.is_empty() {
        true => 0,
        false => response.quantile(0.5),
    };
    let off_ns = off_ns(clock);
    off_ns > 0 && off_ns as f64 > CLOCK_OF_LATENCY_MAX * median_ns as f64
}

/// The reason why times of this measure are unknown; `None`: their clock does not mislead.
pub(crate) fn unknown(figures: &Figures, measure: usize) -> Option<String> {
    let measure = figures.info.measures.get(measure)?;
    if measure.kind != "message" {
        return None;
    }
    let is_by = |clock: &&ClockSummary| {
        let name = measure.over_regions();
        let rest = name.strip_prefix(clock.measure.as_str());
        rest.is_some_and(|rest| STAMPED.contains(&rest))
    };
    let clocks = summarise(figures);
    let clock = clocks.iter().find(is_by)?;
    misleads(figures, clock).then(|| "unknown: the clocks differ".to_owned())
}

#[cfg(test)]
mod tests {
    use plan::{Basis, Comparison, Figure, MeasureId, Stat, Threshold};
    use record::schema::{Event, Severity};

    use super::*;
    use crate::sample::{self, MS};

    const SAID: usize = sample::UPDATE;

    /// 1,000 messages of `latency_ns`, and others that were stamped up to `ahead_ns` after they arrived.
    fn figures(latency_ns: u64, ahead: u64, ahead_ns: u64) -> Figures {
        let names = ["said", "said.ahead"].map(str::to_owned);
        let mut figures = sample::with_messages(&names);
        sample::succeed(&mut figures, 0, SAID, 1_000, latency_ns, 0);
        if let Some(cell) = figures.cell_mut(0, SAID + 1) {
            cell.response.record_n(ahead_ns, ahead);
            cell.outcomes.insert("ok".to_owned(), ahead);
        }
        figures
    }

    fn with_offset(mut figures: Figures, offset_ns: i64, corrected: bool) -> Figures {
        figures.events.push(Event {
            at_ns: 0,
            what: EventKind::ClockCompared {
                measure: "said".to_owned(),
                offset_ns,
                bound_ns: MS / 10,
                replies: 3,
                corrected,
            },
        });
        figures
    }

    /// The threshold's result, and the severity of the finding on the clock.
    fn judged(figures: &Figures) -> (bool, String, Option<Severity>) {
        let threshold = Threshold {
            text: "p50(said) < 50ms".to_owned(),
            figure: Figure::Measure {
                stat: Stat::Quantile(0.5),
                measure: Some(MeasureId(SAID as u16)),
                basis: Basis::Response,
                phase: None,
            },
            comparison: Comparison::Less,
            limit: 50e6,
        };
        let summary = crate::judge_figures(figures, &[threshold], false);
        let result = &summary.thresholds[0];
        let mut skews = summary.findings.iter().filter(|f| f.code == "clock-skew");
        let severity = skews.next().map(|f| f.severity);
        (result.passed, result.shown.clone(), severity)
    }

    #[test]
    fn a_message_from_the_future_makes_latencies_unknown() {
        let unknown = "unknown: the clocks differ".to_owned();
        let late = judged(&figures(20 * MS, 1_736, 400 * MS));
        assert_eq!(late, (false, unknown.clone(), Some(Severity::Warning)));
        let slight = judged(&figures(20 * MS, 1, MS));
        assert_eq!(slight, (true, "20.0 ms".to_owned(), Some(Severity::Note)));
        let none = judged(&figures(20 * MS, 0, 0));
        assert_eq!(none, (true, "20.0 ms".to_owned(), None));
    }

    #[test]
    fn an_offset_that_replies_show_is_held_against_the_latencies() {
        let offset = |offset_ns, corrected| {
            judged(&with_offset(figures(20 * MS, 0, 0), offset_ns, corrected))
        };
        assert_eq!(offset(MS as i64, false).2, None);
        assert_eq!(offset(2 * MS as i64, false).2, Some(Severity::Warning));
        // Behind: the latencies read too long, and no message seems to come from the future.
        assert_eq!(offset(-2 * MS as i64, false).2, Some(Severity::Warning));
        assert_eq!(offset(-400 * MS as i64, true), (true, "20.0 ms".to_owned(), None));
    }

    #[test]
    fn offset_and_bound_are_in_the_summary() {
        let figures = with_offset(figures(20 * MS, 5, 400 * MS), 400 * MS as i64, false);
        let summary = crate::judge_figures(&figures, &[], false);
        let clock = &summary.clocks[0];
        assert_eq!((clock.offset_ns, clock.bound_ns), (Some(400 * MS as i64), Some(MS / 10)));
        assert_eq!((clock.ahead, clock.replies), (5, 3));
        let finding = summary.findings.iter().find(|f| f.code == "clock-skew").unwrap();
        assert_eq!(
            finding.text,
            "`said`: 5 messages were stamped up to 400 ms after they arrived and have no latency; by 3 \
             replies the sender's clock is 400 ms ahead of the generator's, ± 100 µs; its latencies say \
             nothing; fix: synchronise the clocks, or `stamps: { correct: true }`"
        );
    }
}
