//! Functions of texts, dates and hashes.

use plan::expr::Value;

use crate::expressions::{failure, value};

#[test]
fn texts_are_searched_and_changed() {
    for (expression, expected) in [
        ("contains(w, 'or')", Value::Bool(true)),
        (
            "contains(w, 'x') or starts_with(w, 'wo')",
            Value::Bool(true),
        ),
        (
            "ends_with(w, 'd') and not ends_with(w, 'D')",
            Value::Bool(true),
        ),
        ("replace('a-b-c', '-', '+')", Value::text("a+b+c")),
        ("upper(w) + lower('ÄB')", Value::text("WORDäb")),
        ("'<' + trim('  x ') + '>'", Value::text("<x>")),
        ("substring('größe', 2, 2)", Value::text("öß")),
        ("substring('größe', -2)", Value::text("ße")),
        ("substring('abc', 1)", Value::text("bc")),
        ("substring('abc', 5, 2)", Value::text("")),
        ("split('a,b,c', ',')", Value::text("[\"a\",\"b\",\"c\"]")),
        ("json(split('a,b', ','), '/1')", Value::text("b")),
        ("join(split('a,b,c', ','), ' ')", Value::text("a b c")),
        ("join('[1, true, \"x\"]', '-')", Value::text("1-true-x")),
        ("url('a b/ä')", Value::text("a%20b%2F%C3%A4")),
        ("base64url('a?>~', 1)", Value::text("YT8-fjE")),
        (
            "base64_decode('YT8-fg') + base64_decode('YT8+fg==')",
            Value::text("a?>~a?>~"),
        ),
        ("hex('az')", Value::text("617a")),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn hashes_are_written_in_three_forms() {
    for (expression, expected) in [
        ("sha1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("sha1('abc', 'base64')", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="),
        (
            "sha256('abc', 'base64url')",
            "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
        ),
        (
            "hmac_sha256('Jefe', 'what do ya want for nothing?')",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            "hmac_sha1('Jefe', 'what do ya want for nothing?', 'hex')",
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
        ),
        // As Node's crypto makes it.
        (
            "jwt('{\"sub\":\"1\"}', 'secret')",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.8qZF8vbN3UpcanXFc-mPXJkOPN01-bRch8XX3rToP1U",
        ),
    ] {
        assert_eq!(value(expression), Value::text(expected), "{expression}");
    }
}

#[test]
fn dates_follow_the_calendar() {
    for (expression, expected) in [
        (
            "date(0, 'rfc3339')",
            Value::text("1970-01-01T00:00:00.000+00:00"),
        ),
        (
            "date(now(), 'rfc3339')",
            Value::text("1970-01-01T00:00:01.234+00:00"),
        ),
        (
            "date(784111777000, 'http')",
            Value::text("Sun, 06 Nov 1994 08:49:37 GMT"),
        ),
        (
            "date(1711846800000, '%H:%M', 'Europe/Berlin')",
            Value::text("03:00"),
        ),
        ("date_ms('1970-01-02', '%Y-%m-%d')", Value::Int(86_400_000)),
        (
            "date_ms('1970-01-01T01:00:00+01:00', 'rfc3339')",
            Value::Int(0),
        ),
        (
            "date_ms('Sun, 06 Nov 1994 08:49:37 GMT', 'http')",
            Value::Int(784_111_777_000),
        ),
        (
            "date_ms('1970-01-01 01:00', '%Y-%m-%d %H:%M', 'Europe/Berlin')",
            Value::Int(0),
        ),
        // 31 January and a month; a day with 23 hours.
        (
            "date(date_add(date_ms('2023-01-31', '%Y-%m-%d'), '1 month'), '%F')",
            Value::text("2023-02-28"),
        ),
        (
            "date_add(1711838700000, '1 day', 'Europe/Berlin') - 1711838700000",
            Value::Int(82_800_000),
        ),
        ("date_add(0, '-36h')", Value::Int(-129_600_000)),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn wrong_arguments_are_named() {
    for (expression, expected) in [
        ("join(w, ',')", "not a list in JSON"),
        ("replace(w, nothing, 'x')", "to be replaced is empty"),
        ("base64_decode(w + '!')", "base64_decode"),
        ("sha1(w, 'octal')", "'hex', 'base64' or 'base64url'"),
        ("jwt(w, 'k')", "not a JSON object"),
        ("date(n, '%!')", "date:"),
        (
            "date(n, '%F', 'Mars/Olympus')",
            "no time zone `Mars/Olympus`",
        ),
        ("date_ms(w, '%Y')", "date_ms:"),
        ("date_add(n, w)", "date_add:"),
        ("date(n * 1000000000000000000, '%F')", "beyond"),
    ] {
        let found = failure(expression);
        assert!(found.contains(expected), "{expression}: {found}");
    }
}
