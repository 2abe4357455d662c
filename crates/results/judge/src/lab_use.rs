//! The use of the lab's hosts during a run, and its cost: money is decimal, as in [`cost`](crate::cost).

use record::schema::{EventKind, HostUse};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::cost::Money;
use crate::figures::Figures;

const HOUR_NS: Decimal = Decimal::from_parts(817_405_952, 838, 0, false, 0);

/// The use of a lab's hosts with prices, as reported at the run's end.
pub(crate) struct LabUse<'a> {
    pub(crate) currency: &'a str,
    pub(crate) hosts: &'a [HostUse],
}

impl<'a> LabUse<'a> {
    pub(crate) fn find(figures: &'a Figures) -> Option<LabUse<'a>> {
        let mut reported = figures.events.iter().rev();
        reported.find_map(|event| match &event.what {
            EventKind::LabUsed { currency: Some(currency), hosts } => {
                Some(LabUse { currency, hosts })
            }
            _ => None,
        })
    }
}

/// The cost of a host; `None`: it has no price, or one that no number holds.
pub(crate) fn cost_of(host: &HostUse) -> Option<Money> {
    let per_hour: Decimal = host.per_hour.as_ref()?.parse().ok()?;
    let billed = Decimal::from(host.billed_ns);
    per_hour.checked_mul(billed.checked_div(HOUR_NS)?)
}

fn sum(hosts: &[HostUse]) -> Option<Money> {
    let costs = hosts.iter().filter_map(cost_of);
    costs.fold(None, |sum: Option<Money>, cost| sum.unwrap_or_default().checked_add(cost))
}

/// The cost of all hosts with a price during the run; `None`: none has one.
pub(crate) fn cost(figures: &Figures) -> Option<f64> {
    sum(LabUse::find(figures)?.hosts)?.to_f64()
}

/// The cost of all hosts for each hour that a user was there.
pub(crate) fn cost_per_user_hour(figures: &Figures) -> Option<f64> {
    let hours = figures.user_hours();
    (hours > 0.0).then_some(cost(figures)? / hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_as_many_nanoseconds() {
        assert_eq!(HOUR_NS, Decimal::from(3_600_000_000_000_u64));
    }
}
