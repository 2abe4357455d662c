//! Measures that a run has once for each region, taken as one.

use record::schema::{EventKind, SeriesRow};

use super::Figures;

/// Measures whose figures are taken as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasureGroup {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Ascending.
    pub(crate) measures: Vec<usize>,
}

impl Figures {
    /// All measures, those of several regions as one, under their name without the region; empty if the run has no
    /// regions.
    pub(crate) fn over_regions(&self) -> Vec<MeasureGroup> {
        let mut all: Vec<MeasureGroup> = Vec::new();
        if self.info.regions.is_empty() {
            return all;
        }
        for (number, measure) in self.info.measures.iter().enumerate() {
            let name = measure.over_regions();
            match all.iter_mut().find(|known| known.name == name) {
                Some(known) => known.measures.push(number),
                None => all.push(MeasureGroup {
                    name,
                    kind: measure.kind.clone(),
                    measures: vec![number],
                }),
            }
        }
        all
    }

    /// The share of the users that loops had to start which were lost by this interval.
    pub(super) fn share_lost(&self, row: &SeriesRow) -> f64 {
        let lost = (f64::from(row.loops_lost) - self.loops_dealt(row)).max(0.0);
        if self.info.regions.is_empty() || lost == 0.0 {
            return lost / f64::from(self.info.generator.loops.max(1));
        }
        let loops = self.losses().filter_map(|loss| match loss {
            EventKind::WorkerLost { loops_first, loops, .. } => {
                Some(*loops_first..loops_first + loops)
            }
            _ => None,
        });
        let loops: Vec<u32> = loops.flatten().collect();
        let share: f64 = loops.iter().map(|&number| self.share_of_loop(number)).sum();
        // Some of several workers may have been lost later.
        share * lost / (loops.len() as f64).max(lost)
    }

    /// Lost loops whose users others start in this interval.
    fn loops_dealt(&self, row: &SeriesRow) -> f64 {
        let losses = self.losses().filter_map(|loss| match loss {
            EventKind::WorkerLost { worker, loops, .. } => Some((*worker, *loops)),
            _ => None,
        });
        let dealt = losses.filter_map(|(lost, loops)| {
            let deal = self.deal_of(lost)?;
            // Those of a region that nobody is left of are not.
            let taken = deal.users as f64 / (deal.users + deal.untaken).max(1) as f64;
            (deal.from_ns <= row.start_ns).then_some(f64::from(loops) * taken)
        });
        dealt.sum()
    }

    fn share_of_loop(&self, number: u32) -> f64 {
        let regions = &self.info.regions;
        let total: f64 = regions.iter().map(|region| region.share).sum();
        let own = regions.iter().find(|region| {
            (region.loops_first..region.loops_first + region.loops).contains(&number)
        });
        own.map_or(0.0, |own| own.share / total / f64::from(own.loops))
    }
}

#[cfg(test)]
mod tests {
    use record::schema::{Event, MeasureInfo, RegionInfo};

    use super::*;
    use crate::names::RunNames;
    use crate::sample::{self, MS};

    fn region(name: &str, share: f64, loops_first: u32, loops: u32) -> RegionInfo {
        RegionInfo { name: name.to_owned(), share, loops_first, loops, netns: None }
    }

    /// Messages that users of two regions got: 900 in 10 ms, and 100 in 300 ms.
    fn said() -> Figures {
        let names = ["said (region=north)", "said (region=south)", "said.lost"];
        let more = ["said.duplicated", "said.out_of_order", "said.ahead"];
        let names = names.iter().chain(&more).map(|name| (*name).to_owned());
        let mut figures = sample::with_messages(&names.collect::<Vec<_>>());
        figures.info.regions = vec![region("north", 9.0, 0, 1), region("south", 1.0, 1, 1)];
        for (place, name) in [(sample::UPDATE, "north"), (sample::UPDATE + 1, "south")] {
            let measure: &mut MeasureInfo = &mut figures.info.measures[place];
            measure.tags.insert("region".to_owned(), name.to_owned());
            measure.shared_name = Some("said".to_owned());
        }
        sample::succeed(&mut figures, 0, sample::UPDATE, 900, 10 * MS, 0);
        sample::succeed(&mut figures, 0, sample::UPDATE + 1, 100, 300 * MS, 0);
        figures
    }

    #[test]
    fn totals_are_those_of_all_regions_taken_as_one() {
        let summary = crate::judge_figures(&said(), &[], false);
        let said = summary.totals.iter().find(|m| m.name == "said").unwrap();
        assert_eq!(said.count, 1_000);
        let times = said.response.as_ref().unwrap();
        assert!(times.p50_ns < 11 * MS && times.p95_ns > 290 * MS, "{times:?}");
        assert_eq!(summary.phases[0].totals.len(), summary.totals.len());
        let shares: Vec<f64> = summary.regions.iter().map(|region| region.share).collect();
        assert_eq!(shares, [0.9, 0.1]);
    }

    #[test]
    fn thresholds_name_a_region_and_what_all_regions_lost() {
        let mut figures = said();
        let judged = |figures: &Figures, text: &str| {
            let names = RunNames::of(&figures.info);
            let threshold = names.names().threshold(text).unwrap();
            let summary = crate::judge_figures(figures, &[threshold], false);
            (summary.thresholds[0].passed, summary.thresholds[0].shown.clone())
        };
        let shown = |text: &str| (true, text.to_owned());
        assert_eq!(judged(&figures, "p50(said, region=south) > 200ms"), shown("300 ms"));
        assert_eq!(judged(&figures, "p50(said) < 11ms"), shown("10.0 ms"));
        assert_eq!(judged(&figures, "count(said.lost) == 0"), shown("0"));
        let ahead = figures.cell_mut(0, sample::UPDATE + 5).unwrap();
        ahead.response.record_n(400 * MS, 7);
        ahead.outcomes.insert("ok".to_owned(), 7);
        let unknown = (false, "unknown: the clocks differ".to_owned());
        assert_eq!(judged(&figures, "p50(said, region=south) > 200ms"), unknown);
    }

    #[test]
    fn steps_that_somebody_reached_in_one_region_are_reached() {
        let mut figures = said();
        let step = |name: &str, region: &str| {
            let mut measure = MeasureInfo::new(&format!("{name} (region={region})"), "request");
            measure.tags.insert("region".to_owned(), region.to_owned());
            measure
        };
        let first = figures.info.measures.len() as u16;
        for name in ["GET /a", "GET /b"] {
            let both = ["north", "south"].map(|region| step(name, region));
            figures.info.measures.extend(both);
        }
        figures.info.steps = (first..first + 4).collect();
        let series = std::mem::take(&mut figures.series);
        let mut figures = Figures::new(figures.info, series, Vec::new());
        sample::succeed(&mut figures, 0, usize::from(first), 5, MS, 0);
        let summary = crate::judge_figures(&figures, &[], false);
        let found = summary.findings.iter();
        let found = found.filter(|finding| finding.code == "steps-not-reached");
        let texts: Vec<&str> = found.map(|finding| finding.text.as_str()).collect();
        assert_eq!(texts, ["no user reached the step GET /b"]);
    }

    #[test]
    fn a_lost_loop_takes_the_users_of_its_region() {
        let mut figures = sample::figures();
        figures.info.generator.loops = 3;
        let mut row = SeriesRow { loops_lost: 1, ..SeriesRow::default() };
        assert!((figures.share_lost(&row) - 1.0 / 3.0).abs() < 1e-9);
        figures.info.regions = vec![region("north", 8.0, 0, 2), region("south", 2.0, 2, 1)];
        let what = EventKind::WorkerLost {
            worker: 1,
            pid: 7,
            loops_first: 1,
            loops: 2,
            reported_ns: 0,
            users: 0,
            users_begun: 0,
            users_connected: 0,
            users_due_after: 0,
            why: String::new(),
        };
        let at_ns = 0;
        figures.events.push(Event { at_ns, what });
        row.loops_lost = 2;
        assert!((figures.share_lost(&row) - 0.6).abs() < 1e-9);
        row.loops_lost = 0;
        assert_eq!(figures.share_lost(&row), 0.0);
        // From two seconds on the others start its users.
        let what = EventKind::ShareDealt {
            worker: 1,
            from_ns: 2,
            users: 5,
            users_untaken: 0,
            loops: vec![0],
        };
        figures.events.push(Event { at_ns, what });
        row.loops_lost = 2;
        for (start_ns, share) in [(0, 0.6), (2, 0.0), (3, 0.0)] {
            row.start_ns = start_ns;
            assert!((figures.share_lost(&row) - share).abs() < 1e-9);
        }
    }
}
