//! The cost of a run's system, by a price list.
//!
//! Money is decimal throughout: prices, amounts and their sums have the digits they are written with.

use plan::prices::{Prices, Use};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

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

/// The cost of the system of this name.
///
/// # Errors
/// The list does not know the system, or a number is too large.
pub fn cost(prices: &Prices, system: &str) -> Result<Cost, CostError> {
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
        let sum =
            item.uses.iter().try_fold(Decimal::ZERO, |sum, used| sum.checked_add(per_hour(used)?));
        let sum = sum.ok_or_else(too_large)?;
        cost.per_hour = cost.per_hour.checked_add(sum).ok_or_else(too_large)?;
        cost.items.push((item.name.clone(), sum.normalize()));
    }
    cost.per_hour = cost.per_hour.normalize();
    Ok(cost)
}

fn per_hour(used: &Use) -> Option<Decimal> {
    let quantity = used.amount.checked_mul(used.count)?;
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
