//! Figures that end a run in progress as soon as they are known.

use plan::{Basis, PreciseFigure, Stat, Until};
use record::schema::{EventKind, KnownFigure, RunInfo, SeriesRow};
use stats::censored::{CensoredTimes, Quantile};
use stats::hist::LogHistogram;
use stats::looks::Looks;
use stats::percentile::{self, Blocks};

use crate::figures::{Figures, MeasureFigure};
use crate::limits::{INTERVAL_BLOCKS_MAX, INTERVAL_CONFIDENCE};
use crate::second::SecondOf;

const SECOND_NS: u64 = 1_000_000_000;

/// The figures of a run in progress that may end it, and when to look at them ([`stats::looks`]).
#[derive(Debug)]
pub struct UntilWatch {
    watched: Vec<WatchedFigure>,
    looks: Looks,
    /// Looks so far.
    looked: usize,
    start_ns: u64,
    at_most_ns: u64,
}

/// One of the figures, and its times so far.
#[derive(Debug)]
struct WatchedFigure {
    wanted: PreciseFigure,
    figure: MeasureFigure,
    share: f64,
    stretches: Stretches,
    /// The end of its phase, from which on it is as it is; `u64::MAX`: it is of the whole run.
    end_ns: u64,
}

/// Times by stretches of the run: seconds, and several of them in a long run.
#[derive(Debug)]
struct Stretches {
    seconds: u64,
    all: Vec<Stretch>,
}

#[derive(Debug, Clone, Default)]
struct Stretch {
    known: LogHistogram,
    censored: LogHistogram,
}

impl UntilWatch {
    /// The figures that `until` names, of this run, which has reported nothing yet; `None`: none of them can be looked for.
    pub fn new(info: &RunInfo, until: &Until) -> Option<UntilWatch> {
        let nothing = Figures::of_nothing(info);
        let watched = until.figures.iter().filter_map(|wanted| {
            let figure = MeasureFigure::of(&nothing, &wanted.figure)?;
            let Stat::Quantile(share) = figure.stat else {
                return None;
            };
            let stretches = Stretches { seconds: 1, all: Vec::new() };
            let phase = figure.phase.and_then(|phase| info.phases.get(phase));
            let end_ns = phase.map_or(u64::MAX, |phase| phase.end_ns);
            Some(WatchedFigure { wanted: wanted.clone(), figure, share, stretches, end_ns })
        });
        let watched: Vec<WatchedFigure> = watched.collect();
        let phases = || watched.iter().filter_map(|one| info.phases.get(one.figure.phase?));
        let start_ns = phases().map(|phase| phase.start_ns).max().unwrap_or(0);
        let ends = || watched.iter().map(|one| one.end_ns.min(until.at_most_ns));
        // Without figures there is no time for any.
        let first_end_ns = ends().min().unwrap_or(0);
        let end_ns = ends().max().unwrap_or(0);
        (start_ns < first_end_ns).then(|| UntilWatch {
            watched,
            looks: Looks::new(start_ns, end_ns, INTERVAL_CONFIDENCE),
            looked: 0,
            start_ns,
            at_most_ns: until.at_most_ns,
        })
    }

    /// Adds a second, and looks if it is time: the event of the last look, which is the one at which all figures are known
    /// but those whose phases have ended before they were, or the one at the end. Seconds come in order.
    pub fn look(&mut self, row: &SeriesRow, measures: &[SecondOf<'_>]) -> Option<EventKind> {
        let times_ns = self.looks.times_ns();
        if self.looked == times_ns.len() || row.start_ns < self.start_ns {
            return None;
        }
        let since_ns = row.start_ns - self.start_ns;
        for watched in self.watched.iter_mut().filter(|watched| row.start_ns < watched.end_ns) {
            watched.add(since_ns, measures);
        }
        let due = times_ns.iter().take_while(|&&at_ns| at_ns <= row.end_ns).count();
        if due <= self.looked {
            return None;
        }
        self.looked = due;
        let confidence = self.looks.confidence();
        let figures: Vec<KnownFigure> =
            self.watched.iter().map(|watched| watched.known(confidence)).collect();
        let is_known = figures.iter().all(|figure| figure.is_known);
        let mut each = self.watched.iter().zip(&figures);
        let waits = each.any(|(watched, figure)| !figure.is_known && row.end_ns < watched.end_ns);
        let looks_max = times_ns.len();
        if waits && due < looks_max {
            return None;
        }
        self.looked = looks_max;
        Some(EventKind::Until {
            is_known,
            looks: due as u32,
            looks_max: looks_max as u32,
            at_most_ns: self.at_most_ns,
            figures,
        })
    }
}

impl WatchedFigure {
    fn add(&mut self, since_ns: u64, measures: &[SecondOf<'_>]) {
        let MeasureFigure { basis, measures: ref own, .. } = self.figure;
        let stretch = self.stretches.at(since_ns);
        for second in measures.iter().filter(|second| own.contains(&second.measure)) {
            // Messages without a reply are done as they are sent, and would hide the times of others.
            let takes_no_time = !second.service.is_empty() && second.service.max() == 0;
            if takes_no_time && own.len() > 1 && basis != Basis::Lag {
                continue;
            }
            match basis {
                Basis::Response => {
                    stretch.known.merge(second.response);
                    stretch.known.merge(second.failed);
                    stretch.censored.merge(second.unanswered);
                }
                Basis::Succeeded => stretch.known.merge(second.response),
                Basis::Service => stretch.known.merge(second.service),
                Basis::Lag => stretch.known.merge(second.lag),
            }
        }
    }

    /// The percentile so far, and its interval of this confidence.
    fn known(&self, confidence: f64) -> KnownFigure {
        let mut all = Stretch::default();
        self.stretches.all.iter().for_each(|stretch| all.merge(stretch));
        let text = self.wanted.text.clone();
        let times = CensoredTimes::new(&all.known, &all.censored);
        if times.is_empty() {
            return KnownFigure {
                text,
                is_known: false,
                value_ns: None,
                low_ns: None,
                high_ns: None,
            };
        }
        let blocks = |share: f64| {
            let mut blocks = Blocks::new(times.influence(times.quantile(share).value()));
            for (number, stretch) in self.stretches.all.iter().enumerate() {
                blocks.add_known(number, &stretch.known);
                blocks.add_censored(number, &stretch.censored);
            }
            blocks
        };
        let own = blocks(self.share);
        let median = blocks(0.5);
        let found = percentile::interval(&times, self.share, &own, Some(&median), confidence);
        let value = times.quantile(self.share);
        let value_ns = (!value.is_bound()).then_some(value.value());
        let high_ns = found.high.filter(|high| !high.is_bound()).map(Quantile::value);
        let is_known = match (value_ns, found.low, high_ns) {
            (Some(value), Some(low), Some(high)) => {
                self.wanted.precision.holds(value as f64, low as f64, high as f64)
            }
            _ => false,
        };
        KnownFigure { text, is_known, value_ns, low_ns: found.low, high_ns }
    }
}

impl Stretches {
    /// The stretch of a time since the start. Where there would be too many, two each become one.
    fn at(&mut self, since_ns: u64) -> &mut Stretch {
        let second = since_ns / SECOND_NS;
        while second / self.seconds >= INTERVAL_BLOCKS_MAX {
            let pairs = self.all.chunks(2).map(|pair| {
                let mut both = pair[0].clone();
                pair[1..].iter().for_each(|other| both.merge(other));
                both
            });
            self.all = pairs.collect();
            self.seconds *= 2;
        }
        let place = (second / self.seconds) as usize;
        if self.all.len() <= place {
            self.all.resize(place + 1, Stretch::default());
        }
        &mut self.all[place]
    }
}

impl Stretch {
    fn merge(&mut self, other: &Stretch) {
        self.known.merge(&other.known);
        self.censored.merge(&other.censored);
    }
}

#[cfg(test)]
mod tests {
    use plan::thresholds::Names;
    use record::Outcome;
    use stats::rng::{Purpose, Rng};
    use testkit::runs::sample;

    use super::*;

    fn until(texts: &[&str], at_most_s: u64) -> Until {
        let names = Names {
            measures: &["connect", "request"],
            metrics: &[],
            tags: &[],
            phases: &["ramp", "hold"],
        };
        let figures = texts.iter().map(|text| names.precise(text).unwrap());
        Until { figures: figures.collect(), at_most_ns: at_most_s * SECOND_NS }
    }

    fn watch(texts: &[&str], at_most_s: u64) -> UntilWatch {
        let mut info = sample::info();
        info.phases = vec![
            sample::phase("ramp", "rate", 0, 10, 100.0),
            sample::phase("hold", "hold", 10, 1800, 0.0),
        ];
        UntilWatch::new(&info, &until(texts, at_most_s)).unwrap()
    }

    /// The second that ends with the last look, and its event, if this many requests a second take 10 to 20 ms.
    fn last_look(watch: &mut UntilWatch, per_second: u64) -> (u64, EventKind) {
        let mut rng = Rng::new(7, 1, Purpose::Value);
        let none = LogHistogram::new();
        let mut outcomes = vec![0; Outcome::ALL.len()];
        outcomes[Outcome::Ok as usize] = per_second;
        let found = (0..2000).find_map(|second| {
            let mut response = LogHistogram::new();
            (0..per_second).for_each(|_| response.record(10_000_000 + rng.below(10_000_000)));
            let values = SecondOf {
                measure: sample::REQUEST,
                begun: per_second,
                outcomes: &outcomes,
                response: &response,
                failed: &none,
                unanswered: &none,
                service: &response,
                lag: &none,
            };
            let event = watch.look(&sample::row(second), &[values])?;
            Some((second + 1, event))
        });
        found.expect("there is a last look")
    }

    #[test]
    fn a_run_ends_at_the_first_look_at_which_all_is_known() {
        // Of 1,000 a second, the median of uniform times is known to 2 % at once, and to 0.5 % after some time.
        let (at_s, event) = last_look(&mut watch(&["p50(request) ± 2%"], 1800), 1_000);
        let EventKind::Until { is_known, looks, looks_max, ref figures, .. } = event else {
            panic!("{event:?}");
        };
        assert_eq!((at_s, is_known, looks, looks_max), (30, true, 1, 12));
        let KnownFigure { value_ns: Some(value), low_ns: Some(low), high_ns: Some(high), .. } =
            figures[0]
        else {
            panic!("{figures:?}");
        };
        assert!((14_700_000..=15_300_000).contains(&value), "{value}");
        assert!(low < value && value < high && high - low < 600_000, "{figures:?}");
        let both = ["p50(request) ± 2%", "p50(request) ± 0.5%"];
        let (later_s, _) = last_look(&mut watch(&both, 1800), 1_000);
        assert!(later_s > at_s, "{later_s}");
    }

    #[test]
    fn looks_of_a_phase_begin_with_it() {
        let (at_s, _) = last_look(&mut watch(&["p50(request) ± 2% in hold"], 1800), 1_000);
        assert_eq!(at_s, 40);
    }

    #[test]
    fn a_figure_whose_phase_is_over_does_not_end_the_run() {
        let (alone_s, _) = last_look(&mut watch(&["p50(request) ± 0.5%"], 1800), 1_000);
        let both = ["p50(request) ± 0.01ms in ramp", "p50(request) ± 0.5%"];
        let (at_s, event) = last_look(&mut watch(&both, 1800), 1_000);
        // Ten seconds are not enough for the first one, and the second one is known as soon as if it were alone.
        assert!(at_s > 30 && at_s == alone_s, "{at_s} {alone_s}");
        let EventKind::Until { is_known: false, looks, looks_max, figures, .. } = event else {
            panic!("{event:?}");
        };
        assert!(looks < looks_max, "{looks} of {looks_max}");
        assert_eq!(figures.iter().map(|one| one.is_known).collect::<Vec<_>>(), [false, true]);
        // Nothing else is waited for.
        let (at_s, _) = last_look(&mut watch(&both[..1], 1800), 1_000);
        assert_eq!(at_s, 10);
    }

    #[test]
    fn what_is_never_known_is_said_at_the_last_look() {
        let (at_s, event) = last_look(&mut watch(&["p99.9(request) ± 0.5%"], 60), 10);
        let EventKind::Until { is_known, looks, looks_max, figures, .. } = event else {
            panic!("{event:?}");
        };
        assert_eq!((at_s, is_known, looks, looks_max), (60, false, 3, 3));
        assert_eq!(figures[0].text, "p99.9(request) ± 0.5%");
        let (at_s, event) = last_look(&mut watch(&["p50(connect) ± 5%"], 60), 10);
        let EventKind::Until { is_known: false, figures, .. } = event else {
            panic!("{event:?}");
        };
        assert_eq!((at_s, figures[0].value_ns), (60, None));
    }

    #[test]
    fn long_runs_have_stretches_of_several_seconds() {
        let mut stretches = Stretches { seconds: 1, all: Vec::new() };
        for second in 0..1800 {
            stretches.at(second * SECOND_NS).known.record(second);
        }
        assert_eq!((stretches.seconds, stretches.all.len()), (4, 450));
        assert!(stretches.all.iter().all(|stretch| stretch.known.count() == 4));
        assert_eq!(stretches.all[449].known.max(), 1799);
    }
}
