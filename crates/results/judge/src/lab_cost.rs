//! The cost of the lab's hosts during a run.

use std::collections::BTreeMap;

use record::schema::{Finding, HostUse, Severity};
use rust_decimal::prelude::ToPrimitive;

use crate::case::Case;
use crate::cost::Money;
use crate::finding::finding;
use crate::lab_use::{LabUse, cost, cost_of, cost_of_traffic, cost_per_user_hour};

/// Most hosts that are named.
const HOSTS_SHOWN: usize = 8;

/// The cost of the hosts, by region and by host.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let Some(found) = LabUse::find(figures) else {
        return Vec::new();
    };
    let LabUse { currency, hosts, .. } = found;
    let Some(total) = cost(figures) else {
        return Vec::new();
    };
    let money = |amount: f64| format!("{} {currency}", units::significant(amount, 4));
    let mut regions: BTreeMap<&str, Money> = BTreeMap::new();
    let mut each: Vec<(Money, &HostUse)> = Vec::new();
    for host in hosts {
        if let Some(cost) = cost_of(host) {
            let region = regions.entry(&host.region).or_default();
            *region = region.saturating_add(cost);
            each.push((cost, host));
        }
    }
    each.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.host.cmp(&b.1.host)));
    let unpriced = hosts.len() - each.len();
    let of = |cost: &Money| money(cost.to_f64().unwrap_or_default());
    let regions: Vec<String> =
        regions.iter().map(|(region, cost)| format!("{region} {}", of(cost))).collect();
    let shown = each.iter().take(HOSTS_SHOWN).map(|(cost, host)| {
        let used = units::span(host.used_ns);
        format!("{} {} for {used}", host.host, of(cost))
    });
    let mut shown: Vec<String> = shown.collect();
    if each.len() > HOSTS_SHOWN {
        shown.push(format!("and {} more", each.len() - HOSTS_SHOWN));
    }
    let mut text = format!(
        "the lab's hosts cost {} during the run: {} ({})",
        money(total),
        regions.join(", "),
        shown.join(", ")
    );
    if let Some(traffic) = cost_of_traffic(&found) {
        text += &format!("; of this {} for what they sent", of(&traffic));
    }
    let per_user_hour = cost_per_user_hour(figures);
    if let Some(cost) = per_user_hour {
        text += &format!("; {} for each hour of a user", money(cost));
    }
    if unpriced > 0 {
        let hosts = units::counted(unpriced as u64, "host");
        text += &format!("; {hosts} without a price not counted");
    }
    let mut draft = finding(Severity::Note, "lab-cost", text).with("cost", total);
    if let Some(cost) = per_user_hour {
        draft = draft.with("cost_per_user_hour", cost);
    }
    vec![draft.done()]
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use plan::Figure;
    use record::schema::{Event, EventKind, HostFlow, TrafficPrices};

    use super::*;
    use crate::sample::{SECOND, figures, rendered};
    use crate::threshold::value;

    fn host(name: &str, region: &str, billed_s: u64, per_hour: Option<&str>) -> HostUse {
        HostUse {
            host: name.to_owned(),
            region: region.to_owned(),
            used_ns: billed_s * SECOND,
            billed_ns: billed_s * SECOND,
            per_hour: per_hour.map(str::to_owned),
        }
    }

    #[test]
    fn hosts_cost_their_hours_and_regions_add_up() {
        let mut figures = figures();
        assert_eq!(value(&figures, &Figure::Cost), None);
        assert_eq!(findings(&Case::new(&figures, &[])), []);
        figures.events.push(Event {
            at_ns: 60 * SECOND,
            what: EventKind::LabUsed {
                currency: Some("USD".to_owned()),
                hosts: vec![
                    host("store", "ireland", 3_600, Some("0.25")),
                    host("api-1", "ireland", 1_800, Some("0.1")),
                    host("api-2", "sydney", 900, Some("0.1")),
                    host("front", "sydney", 3_600, None),
                ],
                flows: Vec::new(),
                traffic: TrafficPrices::default(),
            },
        });
        // 0.25 + 0.05 + 0.025.
        assert_eq!(value(&figures, &Figure::Cost), Some(0.325));
        let hours = figures.user_hours();
        let per_hour = value(&figures, &Figure::CostPerUserHour).unwrap();
        assert!((per_hour - 0.325 / hours).abs() < 1e-12);
        expect![[r#"
            Note lab-cost
                the lab's hosts cost 0.3250 USD during the run: ireland 0.3000 USD, sydney
                0.02500 USD (store 0.2500 USD for 1 h, api-1 0.05000 USD for 30 min, api-2
                0.02500 USD for 15 min); 9.750 USD for each hour of a user; 1 host without a
                price not counted
        "#]]
        .assert_eq(&rendered(&findings(&Case::new(&figures, &[]))));
    }

    #[test]
    fn a_lab_without_prices_costs_nothing_that_is_known() {
        let mut figures = figures();
        figures.events.push(Event {
            at_ns: 0,
            what: EventKind::LabUsed {
                currency: None,
                hosts: vec![host("api", "ireland", 1, None)],
                flows: Vec::new(),
                traffic: TrafficPrices::default(),
            },
        });
        assert_eq!(value(&figures, &Figure::Cost), None);
        assert_eq!(findings(&Case::new(&figures, &[])), []);
    }

    #[test]
    fn what_hosts_sent_is_paid_by_the_gigabyte() {
        let mut figures = figures();
        let flow = |to: Option<&str>, to_region: &str, bytes| HostFlow {
            from: Some("api".to_owned()),
            from_region: "ireland".to_owned(),
            to: to.map(str::to_owned),
            to_region: to_region.to_owned(),
            bytes,
        };
        figures.events.push(Event {
            at_ns: 0,
            what: EventKind::LabUsed {
                currency: Some("USD".to_owned()),
                hosts: vec![host("api", "ireland", 3_600, Some("0.1"))],
                flows: vec![
                    flow(Some("store"), "sydney", 2_000_000_000),
                    flow(None, "sydney", 500_000_000),
                ],
                traffic: TrafficPrices {
                    regions: Some("0.02".to_owned()),
                    users: Some("0.09".to_owned()),
                },
            },
        });
        // 0.1 + 2 · 0.02 + 0.5 · 0.09.
        assert_eq!(value(&figures, &Figure::Cost), Some(0.185));
        let found = findings(&Case::new(&figures, &[]));
        assert!(
            found[0].text.contains("of this 0.08500 USD for what they sent"),
            "{}",
            found[0].text
        );
    }
}
