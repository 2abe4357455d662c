//! `until`: figures that end the run as soon as they are known.

use plan::thresholds::{Names, UNKNOWN_MEASURE};
use plan::{Figure, Phase, PreciseFigure, RecordedMeasures, Until};
use stats::looks::FIRST_NS;

use super::Checker;
use super::thresholds::{hint, metric, tagged};
use crate::document::node::{Node, Place};

/// Stands before the longest time.
const AT_MOST: &str = "at most ";
/// Most figures: the seconds of each are in memory.
const FIGURES_MAX: usize = 8;

impl Checker<'_> {
    /// `until: p95(checkout) ± 2%, at most 30m`, or a list of such texts.
    pub(super) fn until(
        &mut self,
        node: &Node,
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) -> Option<Until> {
        let items = self.one_or_more(node);
        if let Some(further) = items.get(FIGURES_MAX) {
            let message = format!("`until` has more than {FIGURES_MAX} figures");
            self.diagnostics.error("too-many", &further.place, message);
        }
        let end_ns = phases.last().map_or(0, Phase::end_ns);
        let mut at_most: Option<u64> = None;
        let mut figures = Vec::new();
        for item in items {
            let word = self.word(item, "a figure and how precise it is to be")?;
            let (text, longest) = split(&word.text);
            if let Some(longest) = longest {
                let longest_ns = self.longest_ns(longest, &word.place)?;
                at_most = Some(at_most.map_or(longest_ns, |other| other.min(longest_ns)));
            }
            // The time may be an item of its own.
            if text.is_empty() && longest.is_some() {
                continue;
            }
            let as_written = item.text() == Some(word.text.as_str());
            let place = as_written.then_some(item);
            figures.push(self.precise(text, place, &word.place, phases, recorded)?);
        }
        if at_most.is_some_and(|at_most_ns| at_most_ns > end_ns) && end_ns > 0 {
            let message = format!("the load ends before that, after {}", units::span(end_ns));
            self.diagnostics
                .warning("too-late", &node.place, message)
                .hint("let the last phase last for longer");
        }
        let at_most_ns = at_most.map_or(end_ns, |at_most_ns| at_most_ns.min(end_ns));
        if figures.is_empty() {
            self.diagnostics
                .error("bad-threshold", &node.place, "`until` has no figure")
                .hint("write it like `p95(checkout) ± 2%, at most 30m`");
            return None;
        }
        self.has_a_look(&figures, at_most_ns, phases, &node.place);
        Some(Until { figures, at_most_ns })
    }

    fn longest_ns(&mut self, text: &str, place: &Place) -> Option<u64> {
        let seconds = units::parse::duration(text).ok().filter(|seconds| *seconds > 0.0);
        let found = seconds.and_then(units::parse::seconds_to_ns);
        if found.is_none() {
            let message = format!("`{text}` is not a time that a run can last");
            self.diagnostics
                .error("bad-duration", place, message)
                .hint("write it like `p95(checkout) ± 2%, at most 30m`");
        }
        found
    }

    fn precise(
        &mut self,
        text: &str,
        written: Option<&Node>,
        place: &Place,
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) -> Option<PreciseFigure> {
        let measures = recorded.map_or(&self.measures, |recorded| &recorded.measures);
        let names = Names {
            measures: &measures.iter().map(|m| &*m.name).collect::<Vec<_>>(),
            metrics: &self.metrics.iter().map(metric).collect::<Vec<_>>(),
            tags: &measures.iter().map(tagged).collect::<Vec<_>>(),
            phases: &phases.iter().map(|p| &*p.name).collect::<Vec<_>>(),
        };
        match names.precise(text) {
            Ok(figure) => Some(figure),
            Err(error) if error.code == UNKNOWN_MEASURE && recorded.is_none() => None,
            Err(error) => {
                let place = written.map_or_else(|| place.clone(), |node| node.part(&error.span));
                let hint = hint(&error);
                self.diagnostics.error(error.code, &place, error.message).hint_some(hint);
                None
            }
        }
    }

    /// Reports figures that have no time in common, and warns if that is over before the first look.
    fn has_a_look(
        &mut self,
        figures: &[PreciseFigure],
        at_most_ns: u64,
        phases: &[Phase],
        place: &Place,
    ) {
        let of_phase = |figure: &Figure| figure.phase().and_then(|phase| phases.get(phase));
        let phases_of = || figures.iter().filter_map(|one| of_phase(&one.figure));
        let start_ns = phases_of().map(|phase| phase.start_ns).max().unwrap_or(0);
        let end_ns = phases_of().map(Phase::end_ns).min().unwrap_or(u64::MAX).min(at_most_ns);
        if at_most_ns > 0 && end_ns <= start_ns {
            let message = "there is no time at which all of these are looked at";
            self.diagnostics
                .error("too-late", place, message)
                .hint("each is looked at within its phase, and until `at most`: name one phase, or let it last for longer");
        } else if at_most_ns > 0 && end_ns <= start_ns.saturating_add(FIRST_NS) {
            let message = format!(
                "this is over before the first look, which is after {}",
                units::span(FIRST_NS)
            );
            self.diagnostics.warning("too-late", place, message).hint("let it last for longer");
        }
    }
}

/// A text without `, at most 30m`, and that time.
fn split(text: &str) -> (&str, Option<&str>) {
    if let Some(longest) = text.trim().strip_prefix(AT_MOST) {
        return ("", Some(longest.trim()));
    }
    match text.rsplit_once(',') {
        Some((figure, behind)) => match behind.trim_start().strip_prefix(AT_MOST) {
            Some(longest) => (figure, Some(longest.trim())),
            None => (text, None),
        },
        None => (text, None),
    }
}
