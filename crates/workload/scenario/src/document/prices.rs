//! Price lists: what things cost, and what systems use in an hour.
//!
//! Prices are decimal numbers, digit by digit as they are written; nothing here is a float.

use std::collections::BTreeMap;

use plan::prices::{Item, Prices, System, TrafficKind, Use};
use rust_decimal::Decimal;

use crate::document::Source;
use crate::document::diagnostic::Diagnostic;
use crate::document::node::Node;
use crate::document::reader::{DocumentReader, Map};
use crate::document::suggest;

/// A month, where the list does not say.
const MONTH_HOURS: Decimal = Decimal::from_parts(720, 0, 0, false, 0);

/// A price as it stands in the list.
struct Price<'n> {
    name: &'n str,
    price: Decimal,
    lot: Decimal,
    /// The unit of the lot; `None`: pieces.
    unit: Option<String>,
    /// For how many hours; `None`: paid once, for what is used up.
    hours: Option<Decimal>,
}

impl Price<'_> {
    /// The price of a gigabyte, if it is paid by it and once.
    fn of_gigabyte(&self) -> Option<Decimal> {
        let is_paid_by_it = self.unit.as_deref() == Some(GIGABYTE) && self.hours.is_none();
        is_paid_by_it.then(|| self.price.checked_div(self.lot)).flatten()
    }
}

/// Reads a price list. All problems are reported at once; there is a list exactly where none of them is
/// an error.
pub fn prices(source: Source<'_>) -> (Option<Prices>, Vec<Diagnostic>) {
    let (root, mut reader) = DocumentReader::open(source.text);
    let prices = root.and_then(|root| reader.price_list(&root));
    reader.close(prices)
}

/// The hourly price of each thing that is paid by time and piece, of a price list that need not
/// have systems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hourly {
    /// The currency, such as `USD`.
    pub currency: String,
    /// Prices by name, digit by digit.
    pub per_hour: BTreeMap<String, String>,
    /// The price of a gigabyte of each thing that is paid by it, by name, digit by digit.
    pub per_gb: BTreeMap<String, String>,
}

/// Reads the hourly prices of a price list. All problems of its prices are reported at once; there are some exactly where
/// none of them is an error.
pub fn hourly(source: Source<'_>) -> (Option<Hourly>, Vec<Diagnostic>) {
    let (root, mut reader) = DocumentReader::open(source.text);
    let hourly = root.and_then(|root| reader.hourly(&root));
    reader.close(hourly)
}

/// The unit of traffic.
const GIGABYTE: &str = "GB";

/// The keys of a price list; `prices` must be there.
const KEYS: [&str; 4] = ["prices", "systems", "currency", "month"];

impl DocumentReader<'_> {
    fn hourly(&mut self, root: &Node) -> Option<Hourly> {
        let map = self.map(root, "the price list", &KEYS, 1)?;
        let (currency, month) = self.units(&map)?;
        let mut per_hour = BTreeMap::new();
        let mut per_gb = BTreeMap::new();
        for entry in self.entries(map.get("prices")?, "prices by name")? {
            let Some(price) = self.price(&entry.key, &entry.value, month) else {
                continue;
            };
            let hours = price.hours.filter(|_| price.unit.is_none());
            let hour =
                hours.and_then(|hours| price.price.checked_div(hours.checked_mul(price.lot)?));
            per_hour.extend(hour.map(|hour| (entry.key.clone(), hour.normalize().to_string())));
            let gigabyte = price.of_gigabyte();
            per_gb.extend(gigabyte.map(|one| (entry.key.clone(), one.normalize().to_string())));
        }
        Some(Hourly { currency, per_hour, per_gb })
    }

    /// The currency, and the hours of a month.
    fn units(&mut self, map: &Map<'_>) -> Option<(String, Decimal)> {
        let currency = match map.get("currency") {
            Some(node) => self.text(node, "the name of a currency")?.to_owned(),
            None => "USD".to_owned(),
        };
        let month = match map.get("month") {
            Some(node) => self.hours(node)?,
            None => MONTH_HOURS,
        };
        Some((currency, month))
    }

    fn price_list(&mut self, root: &Node) -> Option<Prices> {
        let map = self.map(root, "the price list", &KEYS, 2)?;
        let (currency, month) = self.units(&map)?;
        let mut prices = Vec::new();
        for entry in self.entries(map.get("prices")?, "prices by name")? {
            prices.extend(self.price(&entry.key, &entry.value, month));
        }
        let listed: Vec<&str> = self
            .entries(map.get("prices")?, "prices by name")?
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        let mut systems = Vec::new();
        for entry in self.entries(map.get("systems")?, "systems by name")? {
            let mut items = Vec::new();
            for item in self.entries(&entry.value, "items by name")? {
                let uses = self.items(&item.value, "uses of prices").iter();
                let uses = uses.filter_map(|node| self.price_use(node, &prices, &listed));
                items.push(Item { name: item.key.clone(), uses: uses.collect() });
            }
            systems.push(System { name: entry.key.clone(), items });
        }
        Some(Prices { currency, systems })
    }

    fn price<'n>(&mut self, name: &'n str, node: &'n Node, month: Decimal) -> Option<Price<'n>> {
        let map = self.map(node, &format!("the price `{name}`"), &["price", "per"], 2)?;
        let price = self.decimal(map.get("price")?, "a price");
        let per = map.get("per")?;
        let text = self.text(per, "what the price is for")?;
        let (lot, what) = match text.split_once(' ') {
            Some(("million", what)) => (Some(Decimal::from(1_000_000)), what),
            Some((lot, what)) => (lot.replace('_', "").parse().ok(), what),
            None => (Some(Decimal::ONE), text),
        };
        let time = |word: &str| match word {
            "hour" => Some(Decimal::ONE),
            "month" => Some(month),
            _ => None,
        };
        let (unit, hours) = match what.rsplit_once('-') {
            Some((unit, word)) if time(word).is_some() => (Some(unit.to_owned()), time(word)),
            _ if time(what).is_some() => (None, time(what)),
            _ => (Some(what.to_owned()), None),
        };
        let lot = lot.filter(|lot| !lot.is_zero() && !lot.is_sign_negative());
        if lot.is_none() || what.is_empty() {
            self.diagnostics
                .error(
                    "bad-price",
                    &per.place,
                    format!("`{text}` is not something that a price can be for"),
                )
                .hint("write hour, month, GB, GB-month, IOPS-hour or `million requests`");
        }
        Some(Price { name, price: price?, lot: lot?, unit, hours })
    }

    fn price_use(&mut self, node: &Node, prices: &[Price<'_>], listed: &[&str]) -> Option<Use> {
        let map = self.map(node, "a use", &["use", "amount", "measured", "count", "over"], 1)?;
        let name = self.text(map.get("use")?, "the name of a price")?;
        if !listed.contains(&name) {
            let message = format!("there is no price for `{name}` in this list");
            let hint = suggest::hint(name, "the prices are", listed.iter().copied());
            self.diagnostics
                .error("missing-price", &map.get("use")?.place, message)
                .hint_some(hint);
        }
        // A price with a fault of its own has been reported.
        let price = prices.iter().find(|price| price.name == name)?;
        if let Some(node) = map.get("measured") {
            return self.measured_use(&map, node, price);
        }
        let mut given = |key: &str| match map.get(key) {
            Some(node) => self.decimal(node, "a number").map(Some),
            None => Some(None),
        };
        let amount = given("amount")?;
        let count = given("count")?;
        if amount.is_none()
            && let Some(unit) = &price.unit
        {
            let message = format!("`{name}` is paid by {unit}: `amount` is missing");
            self.diagnostics.error("missing-key", map.place, message);
        }
        let hours = match (price.hours, map.get("over")) {
            (Some(hours), None) => hours,
            (None, Some(node)) => self.hours(node)?,
            (Some(_), Some(node)) => {
                let message = format!("`{name}` is paid by time; it takes no `over`");
                self.diagnostics.error("bad-use", &node.place, message);
                return None;
            }
            (None, None) => {
                let message = format!("`{name}` is paid by use: `over` is missing");
                self.diagnostics
                    .error("missing-key", map.place, message)
                    .hint("write it like `over: 90m`");
                return None;
            }
        };
        Some(Use {
            name: name.to_owned(),
            price: price.price,
            amount: amount.unwrap_or(Decimal::ONE),
            count: count.unwrap_or(Decimal::ONE),
            lot: price.lot,
            hours,
            measured: None,
        })
    }

    /// A use of what a run in a lab measures, in place of an amount.
    fn measured_use(&mut self, map: &Map<'_>, node: &Node, price: &Price<'_>) -> Option<Use> {
        let words = [("regions", TrafficKind::ToRegions), ("users", TrafficKind::ToUsers)];
        let measured = self.word(node, &words);
        if price.of_gigabyte().is_none() {
            let message = format!("`{}` is not paid by GB, which is what is measured", price.name);
            self.diagnostics.error("bad-use", &node.place, message);
        }
        for key in ["amount", "count", "over"] {
            if let Some(node) = map.get(key) {
                let message = format!("what is measured takes no `{key}`");
                self.diagnostics.error("bad-use", &node.place, message);
            }
        }
        Some(Use {
            name: price.name.to_owned(),
            price: price.price,
            amount: Decimal::ONE,
            count: Decimal::ONE,
            lot: price.lot,
            hours: Decimal::ONE,
            measured: Some(measured?),
        })
    }

    /// A duration in hours, exactly.
    fn hours(&mut self, node: &Node) -> Option<Decimal> {
        let seconds = self.seconds(node)?;
        // Whole milliseconds are reported exactly by both kinds of number.
        let ms = (seconds * 1000.0).round();
        let whole = (1.0..1e15).contains(&ms);
        if !whole {
            let message = "a time between 1 ms and 30,000 years is needed here";
            self.diagnostics.error("bad-duration", &node.place, message);
        }
        whole.then(|| Decimal::from(ms as u64) / Decimal::from(3_600_000))
    }
}

#[cfg(test)]
mod tests;
