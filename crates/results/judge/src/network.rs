//! The emulated network of the lab that a run took place in: whether it did what was requested.

use record::schema::{EventKind, Finding, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::{Draft, finding};
use crate::limits::NETWORK_LATE_P99_NS_MAX;

/// The fact of a run's machine that names hosts of its lab whose limits were not in force, separated by commas.
pub const UNLIMITED_HOSTS: &str = "lab hosts without limits";

/// Distances that were not those that were requested: packets were late, or dropped where no link was to lose them.
pub(crate) fn faults(case: &Case<'_>) -> Vec<Finding> {
    let report = Report::last(case.figures).filter(Report::is_faulty);
    let Some(report) = report else {
        return Vec::new();
    };
    let how_late = report.how_late();
    let draft = if report.overflow > 0 {
        let text = format!(
            "the lab's network could not carry the load: it dropped {} that no link was to lose ({} passed; {how_late})",
            units::counted(report.overflow, "packet"),
            units::counted(report.packets, "packet"),
        );
        finding(Severity::Fatal, "network-overloaded", text)
    } else {
        let text = format!(
            "the lab's network was late, so distances were longer than requested: {how_late} (limit {})",
            units::duration(NETWORK_LATE_P99_NS_MAX as f64)
        );
        finding(Severity::Fatal, "network-late", text)
    };
    vec![report.with_figures(draft)]
}

/// A network that did what was requested, as far as anybody knows.
pub(crate) fn emulated(case: &Case<'_>) -> Vec<Finding> {
    let report = Report::last(case.figures).filter(|report| !report.is_faulty());
    let Some(report) = report else {
        return Vec::new();
    };
    let counted = units::counted(report.packets, "packet");
    let lost = units::count(report.lost);
    let how_late = report.how_late();
    let draft = if report.lateness.is_some() {
        let cpu = report
            .cpu_ns
            .map_or(String::new(), |ns| format!("; CPU {}", units::duration(ns as f64)));
        let text = format!(
            "the network was emulated on one machine: {counted}, of which links lost {lost} as requested; {how_late}{cpu}"
        );
        finding(Severity::Note, "network-emulated", text)
    } else {
        let text = format!(
            "the network was emulated on one machine by the kernel: {counted}, of which links lost {lost}; {how_late}, so \
             distances may have been longer than requested; fix: compare them with `throng lab calibrate`, or write \
             `network: forwarder`"
        );
        finding(Severity::Warning, "network-unmeasured", text)
    };
    vec![report.with_figures(draft)]
}

/// The last report of the network.
#[derive(Clone, Copy)]
struct Report {
    /// Packets that passed.
    packets: u64,
    /// Packets that links lost, as they were to.
    lost: u64,
    /// Packets that the network dropped by itself.
    overflow: u64,
    /// `None`: it was not counted.
    lateness: Option<Lateness>,
    cpu_ns: Option<u64>,
}

/// The delay with which packets departed.
#[derive(Clone, Copy)]
struct Lateness {
    p99_ns: u64,
    max_ns: u64,
}

impl Report {
    fn last(figures: &Figures) -> Option<Report> {
        let mut latest = figures.events.iter().rev();
        latest.find_map(|event| match event.what {
            EventKind::NetworkEmulated {
                packets,
                lost,
                overflow,
                late_p99_ns,
                late_max_ns,
                cpu_ns,
            } => {
                let lateness = late_p99_ns.zip(late_max_ns);
                Some(Report {
                    packets,
                    lost,
                    overflow,
                    lateness: lateness.map(|(p99_ns, max_ns)| Lateness { p99_ns, max_ns }),
                    cpu_ns,
                })
            }
            _ => None,
        })
    }

    fn is_faulty(&self) -> bool {
        let is_late = |lateness: Lateness| lateness.p99_ns > NETWORK_LATE_P99_NS_MAX;
        self.overflow > 0 || self.lateness.is_some_and(is_late)
    }

    fn how_late(&self) -> String {
        match self.lateness {
            Some(lateness) => format!(
                "1 % of packets departed more than {} late, the latest {}",
                units::duration(lateness.p99_ns as f64),
                units::duration(lateness.max_ns as f64)
            ),
            None => "how late they were was not counted".to_owned(),
        }
    }

    fn with_figures(&self, draft: Draft) -> Finding {
        let mut draft = draft
            .with("packets", self.packets as f64)
            .with("lost", self.lost as f64)
            .with("overflow", self.overflow as f64);
        if let Some(lateness) = self.lateness {
            draft = draft
                .with("late_p99_ns", lateness.p99_ns as f64)
                .with("late_max_ns", lateness.max_ns as f64);
        }
        if let Some(cpu_ns) = self.cpu_ns {
            draft = draft.with("cpu_ns", cpu_ns as f64);
        }
        draft.done()
    }
}

/// Limits of the lab's file that were not in force.
pub(crate) fn unlimited(case: &Case<'_>) -> Vec<Finding> {
    let Some(hosts) = case.figures.info.host.get(UNLIMITED_HOSTS) else {
        return Vec::new();
    };
    let text = format!(
        "the lab's limits of CPU and memory were not in force: control groups could not be written, so each of these \
         hosts had the whole machine: {hosts}; fix: bring the lab up as root"
    );
    let count = hosts.split(", ").count();
    let draft = finding(Severity::Warning, "lab-unlimited", text).with("hosts", count as f64);
    vec![draft.done()]
}

/// Times that are not the machine's.
pub(crate) fn dilated(case: &Case<'_>) -> Vec<Finding> {
    let mut events = case.figures.events.iter();
    let factor = events.find_map(|event| match event.what {
        EventKind::TimeDilated { factor } => Some(factor),
        _ => None,
    });
    let Some(factor) = factor else {
        return Vec::new();
    };
    let seconds = units::counted(u64::from(factor), "second");
    let text = format!(
        "time was dilated: a second of this run took {seconds} of the machine, whose CPU time and rates count \
         {factor}-fold"
    );
    let draft = finding(Severity::Note, "time-dilated", text).with("factor", f64::from(factor));
    vec![draft.done()]
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use record::schema::{Event, Verdict};

    use super::*;
    use crate::sample::{SECOND, figures, judged, rendered};

    fn check(overflow: u64, late_p99_ns: Option<u64>, verdict: Verdict, expect: &Expect) {
        let mut figures = figures();
        figures.events.push(Event {
            at_ns: 60 * SECOND,
            what: EventKind::NetworkEmulated {
                packets: 1_000,
                lost: 10,
                overflow,
                late_p99_ns,
                late_max_ns: late_p99_ns.map(|_| 4_000_000),
                cpu_ns: late_p99_ns.map(|_| 400_000_000),
            },
        });
        assert_eq!(judged(&figures).verdict, verdict);
        let case = Case::new(&figures, &[]);
        let findings = [faults(&case), emulated(&case)].concat();
        expect.assert_eq(&rendered(&findings));
    }

    #[test]
    fn a_network_that_kept_up_is_a_note() {
        check(
            0,
            Some(100_000),
            Verdict::Measured,
            &expect![[r#"
            Note network-emulated
                the network was emulated on one machine: 1,000 packets, of which links lost 10
                as requested; 1 % of packets departed more than 100 µs late, the latest 4.00 ms;
                CPU 400 ms
        "#]],
        );
    }

    #[test]
    fn a_network_that_counts_no_lateness_is_a_warning() {
        check(
            0,
            None,
            Verdict::Measured,
            &expect![[r#"
            Warning network-unmeasured
                the network was emulated on one machine by the kernel: 1,000 packets, of which
                links lost 10; how late they were was not counted, so distances may have been
                longer than requested; fix: compare them with `throng lab calibrate`, or write
                `network: forwarder`
        "#]],
        );
        check(
            3,
            None,
            Verdict::Untrusted,
            &expect![[r#"
            Fatal network-overloaded
                the lab's network could not carry the load: it dropped 3 packets that no link
                was to lose (1,000 packets passed; how late they were was not counted)
        "#]],
        );
    }

    #[test]
    fn dilated_time_is_a_note() {
        let mut figures = figures();
        assert_eq!(dilated(&Case::new(&figures, &[])), []);
        let what = EventKind::TimeDilated { factor: 5 };
        figures.events.push(Event { at_ns: 0, what });
        assert_eq!(judged(&figures).verdict, Verdict::Measured);
        expect![[r#"
            Note time-dilated
                time was dilated: a second of this run took 5 seconds of the machine, whose CPU
                time and rates count 5-fold
        "#]]
        .assert_eq(&rendered(&dilated(&Case::new(&figures, &[]))));
    }

    #[test]
    fn limits_that_were_not_in_force_are_a_warning() {
        let mut figures = figures();
        let hosts = "web, db".to_owned();
        figures.info.host.insert(UNLIMITED_HOSTS.to_owned(), hosts);
        let summary = judged(&figures);
        assert_eq!(summary.verdict, Verdict::Measured);
        let found = summary.findings.iter().filter(|f| f.code == "lab-unlimited");
        expect![[r#"
            Warning lab-unlimited
                the lab's limits of CPU and memory were not in force: control groups could not
                be written, so each of these hosts had the whole machine: web, db; fix: bring
                the lab up as root
        "#]]
        .assert_eq(&rendered(&Vec::from_iter(found.cloned())));
    }

    #[test]
    fn a_late_or_overloaded_network_makes_a_run_untrusted() {
        check(
            0,
            Some(1_100_000),
            Verdict::Untrusted,
            &expect![[r#"
            Fatal network-late
                the lab's network was late, so distances were longer than requested: 1 % of
                packets departed more than 1.10 ms late, the latest 4.00 ms (limit 1.00 ms)
        "#]],
        );
        check(
            3,
            Some(100_000),
            Verdict::Untrusted,
            &expect![[r#"
            Fatal network-overloaded
                the lab's network could not carry the load: it dropped 3 packets that no link
                was to lose (1,000 packets passed; 1 % of packets departed more than 100 µs
                late, the latest 4.00 ms)
        "#]],
        );
    }
}
