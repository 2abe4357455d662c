//! The emulated network of the lab that a run took place in: whether it did what was requested.

use record::schema::{EventKind, Finding, Severity};

use crate::figures::Figures;
use crate::finding::finding;
use crate::limits::NETWORK_LATE_P99_NS_MAX;

/// The fact of a run's machine that names hosts of its lab whose limits were not in force, separated by commas.
pub const UNLIMITED_HOSTS: &str = "lab hosts without limits";

/// What the network did; fatal if distances were not those that were requested, a warning if nobody knows.
pub(crate) fn found(figures: &Figures) -> Option<Finding> {
    let (done, late, cpu_ns) = reported(figures)?;
    let Done {
        packets,
        lost,
        overflow,
    } = done;
    let counted = units::counted(packets, "packet");
    let how_late = match late {
        Some(late) => format!(
            "1 % of packets departed more than {} late, the latest {}",
            units::duration(late.p99_ns as f64),
            units::duration(late.max_ns as f64)
        ),
        None => "how late they were was not counted".to_owned(),
    };
    let (severity, code, text) = if overflow > 0 {
        let dropped = units::counted(overflow, "packet");
        let text = format!(
            "the lab's network could not carry the load: it dropped {dropped} that no link was to lose ({counted} \
             passed; {how_late})"
        );
        (Severity::Fatal, "network-overloaded", text)
    } else if late.is_some_and(|late| late.p99_ns > NETWORK_LATE_P99_NS_MAX) {
        let text = format!(
            "the lab's network was late, so distances were longer than requested: {how_late} (limit {})",
            units::duration(NETWORK_LATE_P99_NS_MAX as f64)
        );
        (Severity::Fatal, "network-late", text)
    } else if late.is_some() {
        let cpu = cpu_ns.map_or(String::new(), |ns| {
            format!("; CPU {}", units::duration(ns as f64))
        });
        let text = format!(
            "the network was emulated on one machine: {counted}, of which links lost {} as requested; {how_late}{cpu}",
            units::count(lost)
        );
        (Severity::Note, "network-emulated", text)
    } else {
        let text = format!(
            "the network was emulated on one machine by the kernel: {counted}, of which links lost {}; {how_late}, so \
             distances may have been longer than requested; fix: compare them with `throng lab calibrate`, or write \
             `network: forwarder`",
            units::count(lost)
        );
        (Severity::Warning, "network-unmeasured", text)
    };
    let mut draft = finding(severity, code, text)
        .with("packets", packets as f64)
        .with("lost", lost as f64)
        .with("overflow", overflow as f64);
    if let Some(late) = late {
        draft = draft
            .with("late_p99_ns", late.p99_ns as f64)
            .with("late_max_ns", late.max_ns as f64);
    }
    if let Some(cpu_ns) = cpu_ns {
        draft = draft.with("cpu_ns", cpu_ns as f64);
    }
    Some(draft.done())
}

/// Packets of the network: those that passed, those that links lost, and those that it lost by itself.
struct Done {
    packets: u64,
    lost: u64,
    overflow: u64,
}

/// How late packets were.
#[derive(Clone, Copy)]
struct Late {
    p99_ns: u64,
    max_ns: u64,
}

/// The last report of the network, with its CPU time.
fn reported(figures: &Figures) -> Option<(Done, Option<Late>, Option<u64>)> {
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
            let done = Done {
                packets,
                lost,
                overflow,
            };
            let late = late_p99_ns.zip(late_max_ns);
            let late = late.map(|(p99_ns, max_ns)| Late { p99_ns, max_ns });
            Some((done, late, cpu_ns))
        }
        _ => None,
    })
}

/// That limits which the lab's file has were not in force.
pub(crate) fn unlimited(figures: &Figures) -> Option<Finding> {
    let hosts = figures.info.host.get(UNLIMITED_HOSTS)?;
    let text = format!(
        "the lab's limits of CPU and memory were not in force: control groups could not be written, so each of these \
         hosts had the whole machine: {hosts}; fix: bring the lab up as root"
    );
    let count = hosts.split(", ").count();
    let draft = finding(Severity::Warning, "lab-unlimited", text).with("hosts", count as f64);
    Some(draft.done())
}

/// That times are not the machine's.
pub(crate) fn dilated(figures: &Figures) -> Option<Finding> {
    let factor = figures.events.iter().find_map(|event| match event.what {
        EventKind::TimeDilated { factor } => Some(factor),
        _ => None,
    })?;
    let seconds = units::counted(u64::from(factor), "second");
    let text = format!(
        "time was dilated: a second of this run took {seconds} of the machine, whose CPU time and rates count \
         {factor}-fold"
    );
    let draft = finding(Severity::Note, "time-dilated", text).with("factor", f64::from(factor));
    Some(draft.done())
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
        expect.assert_eq(&rendered(&Vec::from_iter(found(&figures))));
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
        assert!(dilated(&figures).is_none());
        let what = EventKind::TimeDilated { factor: 5 };
        figures.events.push(Event { at_ns: 0, what });
        assert_eq!(judged(&figures).verdict, Verdict::Measured);
        expect![[r#"
            Note time-dilated
                time was dilated: a second of this run took 5 seconds of the machine, whose CPU
                time and rates count 5-fold
        "#]]
        .assert_eq(&rendered(&Vec::from_iter(dilated(&figures))));
    }

    #[test]
    fn limits_that_were_not_in_force_are_a_warning() {
        let mut figures = figures();
        let hosts = "web, db".to_owned();
        figures.info.host.insert(UNLIMITED_HOSTS.to_owned(), hosts);
        let summary = judged(&figures);
        assert_eq!(summary.verdict, Verdict::Measured);
        let found = summary
            .findings
            .iter()
            .filter(|f| f.code == "lab-unlimited");
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
