//! Price lists: what systems use in an hour, and what it costs.
//!
//! Prices are decimal numbers, digit by digit as they are written; nothing here is a float.

use rust_decimal::Decimal;

/// A price list that was checked: every use has its price.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// The currency, such as `USD`.
    pub currency: String,
    /// The systems and what each uses, in the order of the text.
    pub systems: Vec<System>,
}

/// A system by name.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// As runs of it are called.
    pub name: String,
    /// The bill, item by item.
    pub items: Vec<Item>,
}

/// An item of the bill: uses that are reported together.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Name for people.
    pub name: String,
    /// The priced quantities that it is made of; if there are none, it costs nothing.
    pub uses: Vec<Use>,
}

/// A quantity of something with a price.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// The price's name.
    pub name: String,
    /// The price of a lot.
    pub price: Decimal,
    /// The quantity, in the price's unit; 1 where it is counted only.
    pub amount: Decimal,
    /// How many there are.
    pub count: Decimal,
    /// The quantity that the price is for.
    pub lot: Decimal,
    /// For how many hours the price holds, or in how many hours the amount is used up.
    pub hours: Decimal,
    /// The amount is what a run measures of this, in gigabytes (10⁹ bytes), and the hours are those of the run.
    pub measured: Option<TrafficKind>,
}

/// The traffic of a system that a run in a lab measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficKind {
    /// From its hosts to its hosts of other regions.
    ToRegions,
    /// From its hosts to users.
    ToUsers,
}
