//! The rules that find what there is to say of a run, and the order of what they find.
//!
//! A rule is a pure function of the [`Case`] and knows nothing of the other rules. The order of the list below means
//! nothing: findings are sorted by their [`Rank`].

use record::schema::{Finding, Severity};

use crate::case::Case;
use crate::rank::Rank;
use crate::{
    accounts, addresses, attempts, channels, clock_skew, faults, findings, groups, health,
    incident_findings, keep_alive, lab_cost, network, once, overload, pauses, probes, sequences,
};

/// A rule, and the rank of all that it finds.
struct Rule {
    rank: Rank,
    find: fn(&Case<'_>) -> Vec<Finding>,
}

const fn rule(rank: Rank, find: fn(&Case<'_>) -> Vec<Finding>) -> Rule {
    Rule { rank, find }
}

const RULES: &[Rule] = &[
    // The generator and its host.
    rule(Rank::MemoryPressure, health::memory_pressure),
    rule(Rank::Shortages, health::shortages),
    rule(Rank::Load, health::load),
    rule(Rank::ThresholdsByLag, health::thresholds_by_lag),
    rule(Rank::Healthy, health::healthy),
    rule(Rank::LagWithinLimit, health::lag_within_limit),
    rule(Rank::Storms, health::storms),
    rule(Rank::Scripts, health::scripts),
    rule(Rank::OwnWork, health::own_work),
    // The run as a whole.
    rule(Rank::Incomplete, health::incomplete),
    rule(Rank::Aborted, health::aborted),
    rule(Rank::Precision, health::precision),
    rule(Rank::PlanChanged, pauses::of_another_plan),
    rule(Rank::Pauses, pauses::of_the_plan),
    rule(Rank::RunTooShort, overload::too_short),
    rule(Rank::RowsSampled, health::rows_sampled),
    rule(Rank::Notes, findings::notes),
    // Workers, agents and regions.
    rule(Rank::LostWorkers, health::lost_workers),
    rule(Rank::Agents, health::agents),
    rule(Rank::Rows, health::rows),
    rule(Rank::Regions, findings::regions_at_home),
    // The lab.
    rule(Rank::NetworkFault, network::faults),
    rule(Rank::Network, network::emulated),
    rule(Rank::TimeDilation, network::dilated),
    rule(Rank::LabLimits, network::unlimited),
    rule(Rank::LabCost, lab_cost::findings),
    rule(Rank::Faults, faults::findings),
    // The target.
    rule(Rank::Overload, overload::findings),
    rule(Rank::TargetEnded, health::target_ended),
    rule(Rank::Addresses, addresses::findings),
    rule(Rank::Certificates, health::certificates),
    rule(Rank::Probes, probes::findings),
    // Sessions, steps and operations.
    rule(Rank::OwnFailures, accounts::own_failures),
    rule(Rank::Failures, accounts::failed),
    rule(Rank::Thresholds, findings::thresholds),
    rule(Rank::Errors, findings::operations_failed),
    rule(Rank::Accounts, accounts::findings),
    rule(Rank::Incidents, incident_findings::findings),
    rule(Rank::PeriodicStalls, incident_findings::stalls),
    rule(Rank::Growth, incident_findings::growths),
    rule(Rank::TwoGroups, groups::findings),
    rule(Rank::Once, once::findings),
    rule(Rank::Attempts, attempts::findings),
    rule(Rank::UsersHeld, findings::users_held),
    rule(Rank::IterationsDropped, findings::iterations_dropped),
    // Connections and messages.
    rule(Rank::KeepAlive, keep_alive::findings),
    rule(Rank::Channels, channels::findings),
    rule(Rank::ConnectsRetried, findings::connects_retried),
    rule(Rank::RequestsRetried, findings::requests_retried),
    rule(Rank::RequestsGoaway, findings::requests_goaway),
    rule(Rank::TlsHandshakes, findings::tls_handshakes),
    rule(Rank::Bodies, findings::bodies_decoded),
    rule(Rank::Sequences, sequences::findings),
    rule(Rank::Clocks, clock_skew::findings),
    rule(Rank::Unmatched, findings::unmatched),
    rule(Rank::Throughput, findings::throughput),
    rule(Rank::Traffic, findings::traffic),
];

/// A place in the order of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: Rank,
    /// Findings of one rule keep their order.
    number: usize,
    /// Behind another finding that has this place.
    is_behind: bool,
}

/// A finding with its place.
struct PlacedFinding {
    place: Place,
    finding: Finding,
}

/// The findings of a run, most important first. If its setup failed there were no users, and nothing else is said.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    match once::failed_setup(case.figures) {
        Some(failed) => vec![failed],
        None => in_order(RULES.iter(), case),
    }
}

fn in_order<'a>(rules: impl Iterator<Item = &'a Rule>, case: &Case<'_>) -> Vec<Finding> {
    let found = rules.flat_map(|rule| {
        let numbered = (rule.find)(case).into_iter().enumerate();
        numbered.map(|(number, finding)| PlacedFinding {
            place: Place { rank: rule.rank, number, is_behind: false },
            finding,
        })
    });
    let mut all: Vec<PlacedFinding> = found.collect();
    let is_complaint = |placed: &&PlacedFinding| {
        placed.finding.severity >= Severity::Warning && placed.place.rank != Rank::LagWithinLimit
    };
    let last = all.iter().filter(is_complaint).map(|placed| placed.place);
    if let Some(last) = last.max() {
        let lag = |placed: &&mut PlacedFinding| placed.place.rank == Rank::LagWithinLimit;
        for lag in all.iter_mut().filter(lag) {
            lag.place = Place { is_behind: true, ..last };
        }
    }
    all.sort_by_key(|placed| placed.place);
    all.into_iter().map(|placed| placed.finding).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use record::Outcome;
    use record::schema::{Event, EventKind};

    use super::*;
    use crate::figures::Figures;
    use crate::sample::{self, MS, REQUEST, fail, judged};

    fn codes(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|f| f.code.as_str()).collect()
    }

    /// The sample with lag that shows in response times, and with two notes.
    fn lagging() -> Figures {
        let mut figures = sample::figures();
        figures.cell_mut(0, REQUEST).map(std::mem::take);
        sample::succeed(&mut figures, 0, REQUEST, 6000, 10 * MS, 2 * MS);
        let what = EventKind::TimeDilated { factor: 4 };
        figures.events.push(Event { at_ns: 0, what });
        figures.series[7].connects_retried = 1;
        figures
    }

    #[test]
    fn each_rule_has_a_rank_of_its_own() {
        let ranks: BTreeSet<Rank> = RULES.iter().map(|rule| rule.rank).collect();
        assert_eq!(ranks.len(), RULES.len());
    }

    #[test]
    fn the_order_of_the_rules_means_nothing() {
        let mut figures = lagging();
        fail(&mut figures, REQUEST, Outcome::Timeout, 900);
        fail(&mut figures, 0, Outcome::Refused, 2);
        figures.info.tls_unverified = true;
        let case = Case::new(&figures, &[]);
        let found = findings(&case);
        assert!(found.len() > 5);
        assert_eq!(found, in_order(RULES.iter().rev(), &case));
    }

    #[test]
    fn lag_within_its_limit_stands_behind_the_last_complaint() {
        let mut figures = lagging();
        let found = judged(&figures).findings;
        let alone = ["generator-lag", "time-dilated", "connects-retried", "throughput"];
        assert_eq!(codes(&found), alone);
        fail(&mut figures, REQUEST, Outcome::Timeout, 900);
        let found = judged(&figures).findings;
        let behind = ["time-dilated", "errors", "generator-lag", "connects-retried", "throughput"];
        assert_eq!(codes(&found), behind);
    }
}
