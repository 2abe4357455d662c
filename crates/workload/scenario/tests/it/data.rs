//! Users' own data: tables and the rows that users get.

use plan::expr::Value;
use plan::{Data, DataId, DrawnRow, End, Op, Order, Register, Slot};
use stats::rng::{Purpose, Rng};

use crate::{compile_with, plan, rendered};

fn data(settings: &str) -> Data {
    let text = format!(
        "target: http://127.0.0.1/\ndata: {{ rows: {{ {settings} }} }}\nsessions:\n  s: [ {{ feed: rows, \
         as: {{}} }}, {{ think: 1s }} ]\narrivals: [ {{ hold: 1s }} ]\n"
    );
    plan(&text).data.remove(0)
}

#[test]
fn cells_keep_what_they_are() {
    let csv = data("file: accounts.csv");
    assert_eq!(csv.table.rows_count(), 3);
    assert_eq!(csv.table.value(0, 0), Value::text("ann"));
    assert_eq!(csv.table.value(1, 1), Value::text("b, \"2\""));
    assert_eq!(csv.table.value(2, 1), Value::text("c"));
    let json = data("file: products.jsonl");
    assert_eq!(json.table.rows_count(), 2);
    assert_eq!(json.table.value(0, 0), Value::Int(7));
    assert_eq!(json.table.value(0, 1), Value::text("[1]"));
    assert_eq!(json.table.value(1, 0), Value::text("x"));
    assert_eq!(json.table.value(1, 1), Value::Nothing);
    assert_eq!(data("file: marked.jsonl").table.value(0, 0), Value::Int(1));
    let numbers = data("file: numbers.jsonl").table;
    assert_eq!(numbers.value(0, 0), Value::unsigned(u64::MAX));
    assert_eq!(numbers.value(0, 1), Value::text("[12345678901234567890123, 1.50]"));
    assert_eq!(numbers.value(1, 0), Value::Number("123456789012345678901234".into()));
}

#[test]
fn columns_may_be_named_by_the_scenario() {
    let csv = data("file: plain.txt, columns: [name, rest], separator: ;, format: plain");
    assert_eq!(csv.table.rows_count(), 2);
    assert_eq!(csv.table.value(0, 0), Value::text("ann"));
    assert_eq!(csv.table.value(0, 1), Value::text("\"a"));
    assert_eq!(csv.table.value(1, 1), Value::text(""));
    let named = data("file: plain.txt, separator: ;, format: plain");
    assert_eq!(named.table.rows_count(), 1);
    let csv = data("file: accounts.csv, columns: [name, password]");
    assert_eq!(csv.table.rows_count(), 4);
    assert_eq!(csv.table.value(0, 0), Value::text("user name"));
}

#[test]
fn rows_follow_the_users_number() {
    let rows = |settings: &str, users: &[(u64, u64)]| -> Vec<DrawnRow> {
        let data = data(&format!("file: accounts.csv, {settings}"));
        let mut rng = Rng::new(1, 1, Purpose::Value);
        let found = users.iter().map(|(user, draw)| data.row(*user, *draw, &mut rng));
        found.collect()
    };
    let row = DrawnRow::Row;
    let users = [(0, 0), (0, 1), (2, 0), (2, 1), (7, 0)];
    assert_eq!(rows("order: sequential", &users), [row(0), row(1), row(2), row(0), row(1)]);
    assert_eq!(
        rows("order: sequential, end: stop", &users),
        [row(0), row(1), row(2), DrawnRow::Stop, DrawnRow::Stop]
    );
    assert_eq!(rows("order: unique", &users), [row(0), row(0), row(2), row(2), DrawnRow::Error]);
    assert_eq!(rows("order: unique, end: wrap", &[(7, 3)]), [row(1)]);
    let draws: Vec<_> = (0..3000).map(|n| (n, 0)).collect();
    let random = rows("order: random", &draws);
    for wanted in 0..3 {
        let count = random.iter().filter(|found| **found == row(wanted)).count();
        // Binomial(3000, 1/3): a standard deviation of 26.
        assert!((870..1130).contains(&count), "{count}");
    }
    // One of three rows: 3000 / (1 + 2^-0.99 + 3^-0.99) draws, within three standard deviations.
    for (order, first) in [
        ("zipfian", 1545.0..1715.0),
        ("zipfian, skew: 0.5", 1230.0..1396.0),
        ("latest", 485.0..615.0),
        ("hotspot, hot_rows: 40%, hot_draws: 90%", 2650.0..2750.0),
    ] {
        let found = rows(&format!("order: {order}"), &draws);
        let count = found.iter().filter(|found| **found == row(0)).count();
        assert!(first.contains(&(count as f64)), "{order}: {count}");
    }
    let once = data("file: accounts.csv, order: once");
    assert_eq!((once.order, once.end), (Order::Once, End::Stop));
    assert_eq!(data("file: accounts.csv").order, Order::Sequential);
    assert_eq!(data("file: accounts.csv").end, End::Wrap);
}

#[test]
fn a_step_sets_the_columns_that_are_wanted() {
    let text = "target: http://127.0.0.1/\ndata:\n  accounts: { file: accounts.csv }\n  \
                products: { file: products.jsonl }\nsessions:\n  s:\n    - feed: accounts\n      as: { login: \
                user name }\n    - feed: products\n    - feed: accounts\n      as: { secret: password }\n    - get: \
                /${login}/${product}/${tags}/${secret}\narrivals: [ { hold: 1s } ]\n";
    let session = plan(text).sessions.remove(0);
    let feeds: Vec<_> = session
        .ops
        .iter()
        .filter_map(|op| match op {
            Op::Feed(feed) => Some((feed.data, feed.register, feed.columns.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        feeds,
        [
            (DataId(0), Register(0), vec![(Slot(0), 0)]),
            (DataId(1), Register(1), vec![(Slot(1), 0), (Slot(2), 1)]),
            (DataId(0), Register(0), vec![(Slot(3), 1)])
        ]
    );
    assert_eq!(session.registers_count, 2);
}

/// `user` is the user's number in expressions: such a column gets another name in the step.
#[test]
fn a_column_named_user_can_be_renamed_as_the_hint_says() {
    let text = |step: &str| {
        format!(
            "target: http://127.0.0.1/\ndata: {{ members: {{ file: members.csv }} }}\nsessions:\n  s:\n    \
             - feed: members\n{step}    - get: /\narrivals: [ {{ hold: 1s }} ]\n"
        )
    };
    let said = rendered(&text(""), &[]);
    assert!(
        said.contains("the column `user` cannot be a variable: `user` is the user's number"),
        "{said}"
    );
    let hint = said.split("name the variables in this step: `").nth(1);
    let renamed = hint.and_then(|hint| hint.split('`').next()).unwrap();
    assert_eq!(renamed, "as: { user_name: user, password: password, e_mail: \"e-mail\" }");
    let session = plan(&text(&format!("      {renamed}\n"))).sessions.remove(0);
    assert_eq!(session.slot_names, ["user_name", "password", "e_mail"]);
}

#[test]
fn too_few_rows_are_reported_before_the_run() {
    let text = "target: http://127.0.0.1/\ndata: { a: { file: accounts.csv, order: unique }, \
                b: { file: accounts.csv } }\nsessions: { s: [ { feed: a, as: { n: user name } } ] }\n\
                arrivals: [ { constant: 1/s, for: 4s } ]\n";
    let (plan, diagnostics) = compile_with(text, &[]);
    assert!(plan.is_some());
    let diagnostics: Vec<_> = diagnostics.iter().map(|one| one.code).collect();
    assert_eq!(diagnostics, ["too-few-rows", "unused-data"]);
}

#[test]
fn rows_that_are_used_once_do_not_begin_again() {
    let text = "target: http://127.0.0.1/\ndata: { a: { file: accounts.csv, order: once, end: wrap } }\n\
                sessions: { s: [ { feed: a, as: { n: user name } }, { get: / } ] }\n\
                arrivals: [ { constant: 1/s, for: 4s } ]\n";
    let said = rendered(text, &[]);
    assert!(said.contains("rows that are used once do not begin again"), "{said}");
}

#[test]
fn a_plans_text_does_not_show_the_rows() {
    let text = format!("{:?}", data("file: accounts.csv"));
    assert!(text.contains("Table(3 x 2, "), "{text}");
    assert!(!text.contains("ann"), "{text}");
}
