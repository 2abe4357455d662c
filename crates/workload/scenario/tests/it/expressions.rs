//! Expressions, from text to value.

use plan::expr::{Context, Expr, Template, Value};
use plan::{Op, Slot};
use stats::rng::{Purpose, Rng};

use crate::{plan, rendered, with_steps};

struct User {
    vars: Vec<Value>,
    rng: Rng,
}

impl Context for User {
    fn var(&self, slot: Slot) -> &Value {
        &self.vars[slot.index()]
    }

    fn user(&self) -> u64 {
        7
    }

    fn iteration(&self) -> u64 {
        2
    }

    fn now_ms(&self) -> i64 {
        1_234
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

/// Variables `n` = 5, `t` = "12", `w` = "word", `nothing`.
fn user() -> User {
    let vars = vec![Value::Int(5), Value::text("12"), Value::text("word"), Value::Nothing];
    User { vars, rng: Rng::new(1, 7, Purpose::Value) }
}

fn text_of(expression: &str) -> String {
    let value = expression.replace('\\', "\\\\").replace('"', "\\\"");
    with_steps(&format!(
        "- set: {{ n: x, t: x, w: x, nothing: x }}\n- set: {{ found: \"${{{value}}}\" }}\n"
    ))
}

#[track_caller]
pub(crate) fn template(expression: &str) -> Template {
    let mut plan = plan(&text_of(expression));
    match plan.sessions[0].ops.pop() {
        Some(Op::Set { value, .. }) => value,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn value(expression: &str) -> Value {
    template(expression).eval(&mut user()).expect("the expression has a value")
}

#[track_caller]
pub(crate) fn failure(expression: &str) -> String {
    template(expression).eval(&mut user()).expect_err("the expression has no value").to_string()
}

#[test]
fn operators_bind_and_compare_as_documented() {
    for (expression, expected) in [
        ("1 + 2 * 3", Value::Int(7)),
        ("(1 + 2) * 3", Value::Int(9)),
        ("7 / 2", Value::Float(3.5)),
        ("6 / 2", Value::Int(3)),
        ("7 % 4 - -1", Value::Int(4)),
        ("10 - 4 - 3", Value::Int(3)),
        ("n + t", Value::Int(17)),
        ("w + n", Value::text("word5")),
        ("'a' + 'b'", Value::text("ab")),
        ("t == 12", Value::Bool(true)),
        ("t == '12.0'", Value::Bool(false)),
        ("t == 12.0 and w == 'word'", Value::Bool(true)),
        ("w < 'x' && t < 100", Value::Bool(true)),
        ("nothing == null", Value::Bool(true)),
        ("nothing == ''", Value::Bool(false)),
        ("not nothing or n / 0 > 1", Value::Bool(true)),
        ("!(n > 3) || false", Value::Bool(false)),
        ("not n == 5", Value::Bool(false)),
        ("user * 10 + iteration", Value::Int(72)),
        ("len(w) + len('ä')", Value::Int(5)),
        ("int('3.9') + int(true)", Value::Int(4)),
        ("str(n) + 'x'", Value::text("5x")),
        ("now()", Value::Int(1234)),
        ("'it\\'s \"}\" \\\\'", Value::text("it's \"}\" \\")),
        ("env('THRONG_HOST')", Value::text("example.org")),
        ("pick(w)", Value::text("word")),
        ("random(4, 4)", Value::Int(4)),
        ("9223372036854775807 + 0.0", Value::Float(9_223_372_036_854_775_807.0)),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

/// A filter of all items in a filter of all items: n³ visits.
#[test]
fn searches_in_expressions_have_a_budget() {
    let search = |count: usize| {
        let list = vec!["1"; count].join(",");
        format!("json('[{list}]', '$[?($[?($[*])])]')")
    };
    assert_eq!(value(&search(3)), Value::text("[1,1,1]"));
    let expected = "json: the searches would look at more than 5,000,000 values";
    assert_eq!(failure(&search(200)), expected);
}

/// Whole numbers are exact up to 2^64 - 1; beyond that the text of a number is kept until it is computed with.
#[test]
fn large_numbers_are_exact() {
    let unsigned = Value::unsigned;
    for (expression, expected) in [
        ("9223372036854775807 + 1", unsigned(1 << 63)),
        ("18446744073709551614 + 1", unsigned(u64::MAX)),
        ("18446744073709551615 - 18446744073709551614", Value::Int(1)),
        ("18446744073709551615 % 10", Value::Int(5)),
        ("18446744073709551614 / 2", Value::Int(i64::MAX)),
        ("4294967296 * 4294967295", unsigned(18_446_744_069_414_584_320)),
        ("-9223372036854775808", Value::Int(i64::MIN)),
        ("int('18446744073709551615')", unsigned(u64::MAX)),
        ("int(1e19)", unsigned(10_000_000_000_000_000_000)),
        ("abs(-9223372036854775807 - 1)", unsigned(1 << 63)),
        ("round(18446744073709551615)", unsigned(u64::MAX)),
        ("max(18446744073709551614, 18446744073709551615, 1)", unsigned(u64::MAX)),
        ("min('18446744073709551615', 18446744073709551616)", unsigned(u64::MAX)),
        ("12345678901234567890 == 12345678901234567891", Value::Bool(false)),
        ("12345678901234567890 == '12345678901234567890'", Value::Bool(true)),
        ("12345678901234567890 < 12345678901234567891", Value::Bool(true)),
        ("123456789012345678901 == 123456789012345678902", Value::Bool(false)),
        ("123456789012345678901 < 123456789012345678902", Value::Bool(true)),
        ("'123456789012345678902' > '123456789012345678901'", Value::Bool(true)),
        ("9007199254740993 == 9007199254740992.0", Value::Bool(false)),
        ("9007199254740992 == 9007199254740992.0", Value::Bool(true)),
        ("1.50 == 1.5 and 3 / 2 == 1.50 and 2 == 2.0 and 0.1 + 0.1 == 0.20", Value::Bool(true)),
        ("0.1 == 0.10000000000000000001", Value::Bool(false)),
        ("1152921504606846976 == 1073741824.5 * 2 * 536870912 - 536870912", Value::Bool(true)),
        ("str(123456789012345678901) + 'x'", Value::text("123456789012345678901x")),
        (
            "json('{\"a\": [12345678901234567890, 1.50]}', '/a/0')",
            unsigned(12_345_678_901_234_567_890),
        ),
        ("json('[1.50]', '/0')", Value::Number("1.50".into())),
        ("json('[12345678901234567890123]', '/0') + 0 > 1e22", Value::Bool(true)),
        (
            "join('[12345678901234567890123, 1.50]', ' ')",
            Value::text("12345678901234567890123 1.50"),
        ),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn draws_have_their_form() {
    let Value::Text(uuid) = value("uuid()") else { panic!("no text") };
    assert_eq!(uuid.len(), 36);
    assert_eq!(&uuid[14..15], "4");
    assert!("89ab".contains(&uuid[19..20]), "{uuid}");
    let Value::Text(text) = value("random_string(12)") else { panic!("no text") };
    assert!(text.len() == 12 && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
    let dice = template("random(1, 6)");
    let mut user = user();
    let mut seen = [0; 7];
    for _ in 0..600 {
        let Value::Int(draw) = dice.eval(&mut user).unwrap() else { panic!("no integer") };
        seen[usize::try_from(draw).unwrap()] += 1;
    }
    assert!(seen[0] == 0 && seen[1..].iter().all(|&count| count > 50), "{seen:?}");
    let wide = template("random(-9223372036854775807 - 1, 9223372036854775807)");
    assert!(wide.eval(&mut user).is_ok());
}

#[test]
fn failures_say_why() {
    assert_eq!(failure("n / (n - 5)"), "division by zero");
    assert_eq!(failure("w - 1"), "`word` is not a number");
    assert_eq!(failure("nothing < 1"), "nothing and `1` cannot be ordered");
    assert_eq!(failure("n + 18446744073709551615"), "integer overflow");
    assert_eq!(failure("n * -9223372036854775807"), "integer overflow");
    assert_eq!(failure("random(n, 18446744073709551615)"), "integer overflow");
    assert_eq!(failure("random(n, 1)"), "random(5, 1): the range is empty");
    assert_eq!(
        failure("random_string(n - 6)"),
        "random_string(-1): the length is not in 0..=65536"
    );
}

#[test]
fn mistakes_are_found_before_the_run() {
    for (expression, expected) in [
        ("n +", "a value is missing here"),
        ("n 5", "an operator is missing before this"),
        ("(n", "a closing ) is missing here"),
        ("n = 5", "write == to compare"),
        ("1 < 2 < 3", "comparisons cannot be chained"),
        ("pik('a')", "did you mean `pick`?"),
        ("random(1)", "write random(1, 6)"),
        ("nn", "`nn` is not defined"),
        ("uuid", "write `uuid()`"),
        ("1 / 0", "division by zero"),
        ("'a' - 1", "`a` is not a number"),
        ("'open", "the closing ' is missing"),
        ("5ms", "`5ms` is not a number"),
        ("env('NOT_SET')", "the environment variable `NOT_SET` is not set"),
        ("env(w)", "`env` takes one name in quotes"),
        ("n ? 1", "`?` is no part of an expression"),
    ] {
        let said = rendered(&text_of(expression), &[]);
        assert!(said.contains(expected), "{expression}: {said}");
    }
    let deep = format!("{}1{}", "(".repeat(400), ")".repeat(400));
    assert!(rendered(&text_of(&deep), &[]).contains("too long"));
}

#[test]
fn templates_are_rendered_for_their_place() {
    let plan = plan(&with_steps(
        "- set: { n: x, w: x }\n- get: /a/${w}\n- post: /\n  body: \"\\\\${n} ${n}${w}\"\n\
         - post: /\n  json: { a: \"${n}\", b: \"<${w}>\" }\n",
    ));
    let mut user = User {
        vars: vec![Value::Int(-3), Value::text("a/\"b\"")],
        rng: Rng::new(1, 1, Purpose::Value),
    };
    let mut rendered = Vec::new();
    for op in &plan.sessions[0].ops {
        let Op::Http(http) = op else { continue };
        let mut out = Vec::new();
        http.body.as_ref().unwrap_or(&http.path).render(&mut user, &mut out).unwrap();
        rendered.push(String::from_utf8(out).unwrap());
    }
    assert_eq!(rendered, ["/base/a/a%2F%22b%22", "${n} -3a/\"b\"", r#"{"a":-3,"b":"<a/\"b\">"}"#]);
}

#[test]
fn conditions_and_counts_are_read_as_such() {
    let mut user = user();
    let count = |value: Value| Expr::Const(value);
    assert_eq!(count(Value::Int(-3)).eval_count(&mut user), Ok(0));
    assert_eq!(count(Value::Float(2.9)).eval_count(&mut user), Ok(2));
    assert_eq!(count(Value::text("4")).eval_count(&mut user), Ok(4));
    assert!(count(Value::text("many")).eval_count(&mut user).is_err());
    assert_eq!(Expr::Var(Slot(2)).eval_bool(&mut user), Ok(true));
    assert_eq!(Expr::Var(Slot(3)).eval_bool(&mut user), Ok(false));
}
