use proptest::prelude::*;

use super::*;
use crate::document::render;

/// All that is reported about the text, place by place.
fn diagnostics(text: &str) -> String {
    let source = Source { name: "prices.yaml", text };
    let (list, diagnostics) = prices(source);
    assert_eq!(list.is_none(), !diagnostics.is_empty());
    render(&diagnostics, source)
}

#[test]
fn a_missing_price_is_reported_with_its_place() {
    let text = "prices: { disk: { price: 1, per: GB-hour } }
systems: { x: { store: [ { use: disc, amount: 3 } ] } }
";
    assert_eq!(
        diagnostics(text),
        "prices.yaml:2:33: error: there is no price for `disc` in this list
  2 | systems: { x: { store: [ { use: disc, amount: 3 } ] } }
    |                                 ^^^^
  hint: did you mean `disk`?
"
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    let text = "currency: USD
prices:
  a: { price: 1e5, per: hour }
  b: { price: -3, per: hour }
  c: { price: 1, per: 0 GB }
  d: { prise: 1 }
  e: { price: 1, per: GB }
  f: { price: 1, per: GB-hour }
systems:
  x:
    one: [ { use: e, amount: 1 }, { use: f }, { use: f, amount: 1, over: 1h }, { use: nothing } ]
    two: 3
";
    let diagnostics = diagnostics(text);
    for expected in [
        "3:15: error: `1e5` is not a price",
        "4:15: error: `-3` is not a price",
        "5:23: error: `0 GB` is not something that a price can be for",
        "6:8: error: unknown key `prise` in the price `d`",
        "6:6: error: `price` is missing in the price `d`",
        "6:6: error: `per` is missing in the price `d`",
        "11:12: error: `e` is paid by use: `over` is missing",
        "11:35: error: `f` is paid by GB: `amount` is missing",
        "11:74: error: `f` is paid by time; it takes no `over`",
        "11:87: error: there is no price for `nothing` in this list",
        "12:10: error: expected a list (uses of prices), found a single value",
    ] {
        assert!(
            diagnostics.contains(&format!("prices.yaml:{expected}\n")),
            "{expected} not in\n{diagnostics}"
        );
    }
}

#[test]
fn empty_and_broken_files_say_so() {
    assert!(diagnostics("").contains("expected a mapping (the price list), found nothing"));
    assert!(diagnostics("{ prices: ").contains("this is not YAML"));
    assert!(diagnostics("prices: {}").contains("`systems` is missing in the price list"));
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = prices(Source { name: "", text: &text });
    }

    #[test]
    fn no_price_panics(price in "[0-9.]{1,40}", per in "[0-9a-zA-Z_. -]{1,20}", over in "[0-9a-z.]{1,12}") {
        let text = format!(
            "prices: {{ a: {{ price: '{price}', per: '{per}' }} }}\nsystems: {{ x: {{ i: [ {{ use: a, amount: '{price}', over: '{over}' }} ] }} }}"
        );
        let _ = prices(Source { name: "", text: &text });
    }
}

#[test]
fn hourly_prices_are_those_by_time_and_piece() {
    let text = "currency: EUR\nmonth: 100h\nprices:\n  box: { price: 0.1, per: hour }\n  rack: { price: 25, per: month }\n  \
                traffic: { price: 0.01, per: GB }\n  disk: { price: 1, per: GB-month }\n";
    let (hourly, diagnostics) = hourly(Source { name: "prices.yaml", text });
    assert_eq!(diagnostics, []);
    let hourly = hourly.unwrap();
    assert_eq!(hourly.currency, "EUR");
    let prices: Vec<(&str, &str)> =
        hourly.per_hour.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(prices, [("box", "0.1"), ("rack", "0.25")]);
}
