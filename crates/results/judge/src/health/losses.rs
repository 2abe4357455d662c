//! Workers that were lost: processes that ran a share of the loops and were no more.

use record::schema::{EventKind, Finding, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::limits::LOSSES_SHOWN_MAX;

/// A finding for each lost worker, and one for those that are too many to list.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let severity = if case.allow_lost_workers { Severity::Warning } else { Severity::Fatal };
    let losses: Vec<&EventKind> = figures.losses().collect();
    let listed = losses.iter().take(LOSSES_SHOWN_MAX);
    let mut findings: Vec<Finding> =
        listed.filter_map(|loss| one(figures, loss, severity)).collect();
    if let Some(further) = losses.len().checked_sub(LOSSES_SHOWN_MAX).filter(|n| *n > 0) {
        let text = format!(
            "{} lost; `events.jsonl` lists each",
            units::counted(further as u64, "further worker"),
        );
        let draft = finding(severity, "worker-lost", text);
        findings.push(draft.with("workers", further as f64).done());
    }
    // If all were lost there are no others.
    if losses.len() < figures.info.workers.len()
        && let Some(last) = findings.last_mut()
    {
        last.text += if case.allow_lost_workers {
            "; as requested, the verdict is based on the remaining workers"
        } else {
            "; `throng show --allow-lost-workers` judges the remaining workers"
        };
    }
    findings
}

fn one(figures: &Figures, loss: &EventKind, severity: Severity) -> Option<Finding> {
    let &EventKind::WorkerLost {
        worker,
        loops_first,
        loops,
        reported_ns,
        users,
        users_due_after,
        ref why,
        ..
    } = loss
    else {
        return None;
    };
    let workers = &figures.info.workers;
    let lost_at_ns = workers.get(worker as usize).and_then(|w| w.lost_at_ns);
    let all = u64::from(figures.info.generator.loops);
    let first = u64::from(loops_first);
    let last = first + u64::from(loops).saturating_sub(1);
    let which = if first == last { format!("{first}") } else { format!("{first} to {last}") };
    let deal = figures.deal_of(worker);
    let mut text = format!(
        "worker {} of {} was lost at {} ({why}): {} active users were lost, and {} more never \
         started (those with a user number mod {all} of {which})",
        u64::from(worker) + 1,
        workers.len(),
        units::duration(lost_at_ns.unwrap_or(reported_ns) as f64),
        units::count(users),
        units::count(users_due_after),
    );
    if let Some(deal) = deal {
        text += &format!(
            "; {} due from {} on were dealt to the others",
            units::counted(deal.users, "user"),
            units::duration(deal.from_ns as f64),
        );
    }
    let mut draft = finding(severity, "worker-lost", text)
        .with("worker", f64::from(worker))
        .with("reported_ns", reported_ns as f64)
        .with("users", users as f64)
        .with("users_due_after", users_due_after as f64)
        .with("loops", f64::from(loops));
    if let Some(deal) = deal {
        draft =
            draft.with("dealt_from_ns", deal.from_ns as f64).with("users_dealt", deal.users as f64);
    }
    Some(draft.done())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use plan::{Comparison, Figure, Threshold};
    use record::Outcome;
    use record::schema::{Event, Verdict, WorkerInfo};

    use super::*;
    use crate::judge_figures;
    use crate::sample::{REQUEST, SECOND, fail, figures, rendered};

    /// The sample's run in four workers, the second of which was lost after 30 s with ten users.
    /// Each had 1,500 users to start; 750 of its own never came, and five were still connecting.
    fn lossy() -> Figures {
        let mut figures = figures();
        figures.info.generator.loops = 8;
        figures.info.workers = (0..4).map(worker).collect();
        figures.info.workers[1].lost_at_ns = Some(31 * SECOND);
        for row in &mut figures.series[30..] {
            row.loops_lost = 2;
            row.users_started = 75;
            row.users_connected = 75;
        }
        figures.series[29].users_connected -= 5;
        figures.events.push(lost(1));
        figures
    }

    fn worker(number: u32) -> WorkerInfo {
        WorkerInfo {
            agent: None,
            pid: 100 + number,
            throng: "0.0.0".to_owned(),
            loops_first: 2 * number,
            loops: 2,
            cores: 2,
            files_per_loop: 20_000,
            clock_offset_ns: 0,
            clock_bound_ns: 0,
            clock_last: None,
            lost_at_ns: None,
            rows: None,
        }
    }

    fn lost(number: u32) -> Event {
        Event {
            at_ns: 31 * SECOND,
            what: EventKind::WorkerLost {
                worker: number,
                pid: 100 + number,
                loops_first: 2 * number,
                loops: 2,
                reported_ns: 30 * SECOND,
                users: 10,
                users_begun: 750,
                users_connected: 745,
                users_due_after: 750,
                why: "its process ended".to_owned(),
            },
        }
    }

    fn check(figures: &Figures, allow_lost_workers: bool, verdict: Verdict, expect: &Expect) {
        let all_connected = Threshold {
            text: "connected >= 100%".to_owned(),
            figure: Figure::Connected,
            comparison: Comparison::GreaterEqual,
            limit: 1.0,
        };
        let summary = judge_figures(figures, &[all_connected], allow_lost_workers);
        expect.assert_eq(&rendered(&summary.findings[..2]));
        assert_eq!((summary.verdict, summary.allow_lost_workers), (verdict, allow_lost_workers));
        let users = &summary.users;
        assert_eq!((users.started, users.connected), (5250, 5235));
        assert_eq!((users.lost, users.never_came), (10, 750));
        assert!(summary.thresholds[0].passed, "the others were connected");
    }

    #[test]
    fn a_lost_worker_makes_the_run_untrusted() {
        check(
            &lossy(),
            false,
            Verdict::Untrusted,
            &expect![[r#"
                Fatal worker-lost
                    worker 2 of 4 was lost at 31.0 s (its process ended): 10 active users were lost,
                    and 750 more never started (those with a user number mod 8 of 2 to 3); `throng
                    show --allow-lost-workers` judges the remaining workers
                Good generator-healthy
                    the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                    memory (precise mode, 8 loops)
            "#]],
        );
    }

    #[test]
    fn remaining_workers_are_judged_on_request() {
        check(
            &lossy(),
            true,
            Verdict::Passed,
            &expect![[r#"
                Warning worker-lost
                    worker 2 of 4 was lost at 31.0 s (its process ended): 10 active users were lost,
                    and 750 more never started (those with a user number mod 8 of 2 to 3); as
                    requested, the verdict is based on the remaining workers
                Good generator-healthy
                    the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                    memory (precise mode, 8 loops)
            "#]],
        );
    }

    #[test]
    fn a_loss_that_was_accepted_stays_the_first_finding() {
        let mut figures = lossy();
        figures.cell_mut(0, REQUEST).map(std::mem::take);
        fail(&mut figures, REQUEST, Outcome::Refused, 40);
        for allow_lost_workers in [false, true] {
            let summary = judge_figures(&figures, &[], allow_lost_workers);
            let codes = summary.findings[..2].iter().map(|f| f.code.as_str());
            assert_eq!(codes.collect::<Vec<_>>(), ["worker-lost", "nothing-succeeded"]);
        }
    }

    /// The others started 700 of its 750 users, and 50 were due before.
    #[test]
    fn a_share_that_was_dealt_is_due_of_the_others() {
        let mut figures = lossy();
        let EventKind::WorkerLost { users_due_after, .. } = &mut figures.events[0].what else {
            panic!("it is the first");
        };
        *users_due_after = 50;
        let what = EventKind::ShareDealt {
            worker: 1,
            from_ns: 32 * SECOND,
            users: 700,
            users_untaken: 0,
            loops: vec![0, 1, 4, 5, 6, 7],
        };
        let at_ns = 31 * SECOND;
        figures.events.push(Event { at_ns, what });
        for row in &mut figures.series[32..] {
            row.users_started = 100;
            row.users_connected = 100;
        }
        let summary = judge_figures(&figures, &[], true);
        expect![[r#"
            Warning worker-lost
                worker 2 of 4 was lost at 31.0 s (its process ended): 10 active users were lost,
                and 50 more never started (those with a user number mod 8 of 2 to 3); 700 users
                due from 32.0 s on were dealt to the others; as requested, the verdict is based
                on the remaining workers
            Good generator-healthy
                the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                memory (precise mode, 8 loops)
        "#]]
        .assert_eq(&rendered(&summary.findings[..2]));
        let users = &summary.users;
        assert_eq!((users.lost, users.never_came, users.dealt), (10, 50, 700));
        // Nobody starts them.
        for row in &mut figures.series[32..] {
            row.users_started = 75;
        }
        let summary = judge_figures(&figures, &[], true);
        assert_eq!(summary.verdict, Verdict::Untrusted);
    }

    #[test]
    fn missed_starts_of_the_others_are_reported() {
        let mut figures = lossy();
        for row in &mut figures.series[30..] {
            row.users_started = 70;
        }
        let summary = judge_figures(&figures, &[], true);
        assert_eq!(summary.verdict, Verdict::Untrusted);
        let text = &summary.findings[1].text;
        assert!(text.starts_with("planned 87.5 users/s, reached 85.0/s"), "{text}");
    }

    #[test]
    fn many_are_summed_up() {
        let mut figures = figures();
        figures.info.workers = (0..9).map(worker).collect();
        figures.events = (0..8).map(lost).collect();
        let found = findings(&Case::new(&figures, &[]));
        assert_eq!(found.len(), LOSSES_SHOWN_MAX + 1);
        let text = &found[LOSSES_SHOWN_MAX].text;
        assert!(text.starts_with("3 further workers lost"), "{text}");
    }
}
