//! The cost of a run's system, by a price list.
//!
//! Money is decimal throughout: prices, amounts and their sums have the digits they are written with.

use plan::prices::{Prices, TrafficKind, Use};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Bytes of a gigabyte.
pub(crate) const GIGABYTE: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);
/// Nanoseconds of an hour.
pub(crate) const HOUR_NS: Decimal = Decimal::from_parts(817_405_952, 838, 0, false, 0);

/// An exact sum of money.
pub type Money = Decimal;

/// The running cost of a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The currency of the list.
    pub currency: String,
    /// Item by item, per hour, in the order of the list.
    pub items: Vec<(String, Decimal)>,
    /// Their sum.
    pub per_hour: Decimal,
}

/// The reason why there is no cost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// The list does not say what the system uses.
    #[error("the price list has no system {name:?}; it has {known}")]
    NoSystem {
        /// The run's name.
        name: String,
        /// The systems it knows.
        known: String,
    },
    /// The run does not say what its hosts sent.
    #[error(
        "{item:?} is paid by what hosts send, which this run did not count: it is no run in a lab, or its network was emulated by \
         netem"
    )]
    NotMeasured {
        /// The item.
        item: String,
    },
    /// No decimal number holds it.
    #[error("the cost of {item:?} is too large")]
    TooLarge {
        /// The item.
        item: String,
    },
}

/// The use that runs made of a system, to hold its cost against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Length of the run.
    pub hours: f64,
    /// Requests that succeeded.
    pub requests: u64,
    /// Hours that users were there, all users together.
    pub user_hours: f64,
}

/// The traffic from the hosts of a system during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// To the system's hosts of other regions, in bytes.
    pub to_regions: u64,
    /// To users, in bytes.
    pub to_users: u64,
    /// Length of the run, in nanoseconds; above 0.
    pub run_ns: u64,
}

impl Traffic {
    /// Gigabytes in an hour.
    fn per_hour(&self, what: TrafficKind) -> Option<Decimal> {
        let bytes = match what {
            TrafficKind::ToRegions => self.to_regions,
            TrafficKind::ToUsers => self.to_users,
        };
        let gigabytes = Decimal::from(bytes).checked_div(GIGABYTE)?;
        gigabytes.checked_mul(HOUR_NS)?.checked_div(Decimal::from(self.run_ns))
    }
}

/// The cost of the system of this name; `traffic`: what its hosts sent, where that was counted.
///
/// # Errors
/// The list does not know the system, traffic is to be paid that was not counted, or a number is too large.
pub fn cost(prices: &Prices, system: &str, traffic: Option<&Traffic>) -> Result<Cost, CostError> {
    let found = prices.systems.iter().find(|known| known.name == system);
    let found = found.ok_or_else(|| CostError::NoSystem {
        name: system.to_owned(),
        known: match prices.systems.is_empty() {
            true => "none".to_owned(),
            false => prices
                .systems
                .iter()
                .map(|system| system.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        },
    })?;
    let mut cost =
        Cost { currency: prices.currency.clone(), items: Vec::new(), per_hour: Decimal::ZERO };
    for item in &found.items {
        let too_large = || CostError::TooLarge { item: item.name.clone() };
        if traffic.is_none() && item.uses.iter().any(|used| used.measured.is_some()) {
            return Err(CostError::NotMeasured { item: item.name.clone() });
        }
        let sum = item
            .uses
            .iter()
            .try_fold(Decimal::ZERO, |sum, used| sum.checked_add(per_hour(used, traffic)?));
        let sum = sum.ok_or_else(too_large)?;
        cost.per_hour = cost.per_hour.checked_add(sum).ok_or_else(too_large)?;
        cost.items.push((item.name.clone(), sum.normalize()));
    }
    cost.per_hour = cost.per_hour.normalize();
    Ok(cost)
}

fn per_hour(used: &Use, traffic: Option<&Traffic>) -> Option<Decimal> {
    let quantity = match used.measured {
        Some(what) => traffic?.per_hour(what)?,
        None => used.amount.checked_mul(used.count)?,
    };
    let price = used.price.checked_mul(quantity)?;
    price.checked_div(used.lot)?.checked_div(used.hours)
}

impl Cost {
    /// The time that the system runs for one unit of money, in hours; `None` where it costs nothing.
    pub fn hours_per_money(&self) -> Option<f64> {
        let per_hour = self.per_hour.to_f64()?;
        (per_hour > 0.0).then(|| 1.0 / per_hour)
    }

    /// The cost of a million requests, were the system used as in the run; `None` where there was none.
    pub fn per_million_requests(&self, usage: &Usage) -> Option<f64> {
        let whole = self.per_hour.to_f64()? * usage.hours;
        (usage.requests > 0).then(|| whole / (usage.requests as f64 / 1e6))
    }

    /// The cost of one user who is there for an hour; `None` where there was none.
    pub fn per_user_hour(&self, usage: &Usage) -> Option<f64> {
        let whole = self.per_hour.to_f64()? * usage.hours;
        (usage.user_hours > 0.0).then(|| whole / usage.user_hours)
    }
}

#[cfg(test)]
mod tests;
