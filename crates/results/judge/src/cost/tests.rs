use scenario::document::Source;

use super::*;

const AWS: &str = include_str!("../../../../../examples/prices/aws-2015.yaml");

fn list(text: &str) -> Prices {
    let source = Source { name: "prices.yaml", text };
    let (prices, diagnostics) = scenario::document::prices(source);
    prices.unwrap_or_else(|| panic!("{}", scenario::document::render(&diagnostics, source)))
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

#[test]
fn the_example_is_the_printed_table_where_that_adds_up() {
    let prices = list(AWS);
    let items = |system| {
        let cost = cost(&prices, system, None).unwrap();
        let items = cost.items.iter().map(|(_, sum)| sum.round_dp(7).normalize().to_string());
        items.collect::<Vec<_>>()
    };
    // Printed to fewer digits: 0.026, 0.091; 0.217, 0.02246, 0.02793; 0.09253. Printed otherwise, and
    // not what units times prices come to: 0.253 and 3.61 of the second.
    assert_eq!(
        items("baseline"),
        ["1.912", "0.0266", "0.4", "0", "0.0194", "0.0913007", "0.005", "0"]
    );
    assert_eq!(
        items("proposed_1"),
        ["0.2171", "0.2584", "3.7", "2.56", "0.0224667", "0.0279333", "0.045", "0.014"]
    );
    assert_eq!(
        items("proposed_2"),
        ["0.4671", "0.3914", "4.4", "1.48", "0.0925333", "0.2454", "0.045", "0.014"]
    );
}

#[test]
fn sums_are_exact() {
    // A tenth is no binary fraction: ten of them are one for decimal numbers only.
    let uses = "{ use: a }, ".repeat(10);
    let prices = list(&format!(
        "prices: {{ a: {{ price: 0.1, per: hour }} }}\nsystems: {{ x: {{ all: [ {uses} ] }} }}"
    ));
    assert_eq!(cost(&prices, "x", None).unwrap().per_hour, Decimal::ONE);
}

#[test]
fn every_kind_of_price_comes_down_to_an_hour() {
    let prices = list(
        "month: 30d
prices:
  box: { price: 72, per: month }
  disk: { price: 0.72, per: GB-month }
  traffic: { price: 0.01, per: GB }
  calls: { price: 0.4, per: million requests }
  lots: { price: 5, per: 10_000 requests }
systems:
  x:
    box: [ { use: box, count: 2 } ]
    disk: [ { use: disk, amount: 100 } ]
    traffic: [ { use: traffic, amount: 3, over: 90m } ]
    calls: [ { use: calls, amount: 7200000, over: 30m } ]
    lots: [ { use: lots, amount: 20000, over: 1h } ]",
    );
    let cost = cost(&prices, "x", None).unwrap();
    let items: Vec<Decimal> = cost.items.iter().map(|item| item.1).collect();
    assert_eq!(items, ["0.2", "0.1", "0.02", "5.76", "10"].map(decimal));
    assert_eq!(cost.per_hour, decimal("16.08"));
    let usage = Usage { hours: 0.5, requests: 4_000_000, user_hours: 100.0 };
    assert!((cost.per_million_requests(&usage).unwrap() - 2.01).abs() < 1e-12);
    assert!((cost.per_user_hour(&usage).unwrap() - 0.0804).abs() < 1e-12);
    let idle = Usage { hours: 0.5, requests: 0, user_hours: 0.0 };
    assert_eq!((cost.per_million_requests(&idle), cost.per_user_hour(&idle)), (None, None));
}

#[test]
fn what_is_not_known_and_what_is_too_large_is_reported() {
    let prices = list(AWS);
    assert_eq!(
        cost(&prices, "baselin", None).unwrap_err().to_string(),
        "the price list has no system \"baselin\"; it has baseline, proposed_1, \
         proposed_2"
    );
    let huge = "9".repeat(28);
    let prices = list(&format!(
        "prices: {{ a: {{ price: {huge}, per: hour }} }}\nsystems: {{ x: {{ all: [ {{ use: a, \
         amount: {huge} }} ] }} }}"
    ));
    assert_eq!(
        cost(&prices, "x", None).unwrap_err().to_string(),
        "the cost of \"all\" is too large"
    );
    let free =
        list("prices: { a: { price: 0, per: hour } }\nsystems: { x: { all: [ { use: a } ] } }");
    assert_eq!(cost(&free, "x", None).unwrap().hours_per_money(), None);
}

#[test]
fn what_hosts_sent_is_paid_by_the_hour_of_the_run() {
    let prices = list(
        "prices:
  between: { price: 0.02, per: GB }
  out: { price: 0.9, per: 10 GB }
systems:
  x:
    between: [ { use: between, measured: regions } ]
    out: [ { use: out, measured: users } ]",
    );
    // Half an hour.
    let traffic =
        Traffic { to_regions: 3_000_000_000, to_users: 500_000_000, run_ns: 1_800_000_000_000 };
    let found = cost(&prices, "x", Some(&traffic)).unwrap();
    // 3 GB · 0.02 · 2, and 0.5 GB · 0.09 · 2.
    assert_eq!(
        found.items.iter().map(|item| item.1).collect::<Vec<_>>(),
        ["0.12", "0.09"].map(decimal)
    );
    let refused = cost(&prices, "x", None).unwrap_err().to_string();
    assert!(refused.starts_with("\"between\" is paid by what hosts send"), "{refused}");
}
