//! Functions of texts, dates and hashes.

use plan::expr::Value;

use crate::expressions::{failure, value};

#[test]
fn texts_are_searched_and_changed() {
    for (expression, expected) in [
        ("contains(w, 'or')", Value::Bool(true)),
        ("contains(w, 'x') or starts_with(w, 'wo')", Value::Bool(true)),
        ("ends_with(w, 'd') and not ends_with(w, 'D')", Value::Bool(true)),
        ("replace('a-b-c', '-', '+')", Value::text("a+b+c")),
        ("upper(w) + lower('ÄB')", Value::text("WORDäb")),
        ("'<' + trim('  x ') + '>'", Value::text("<x>")),
        ("substring('größe', 2, 2)", Value::text("öß")),
        ("substring('größe', -2)", Value::text("ße")),
        ("substring('abc', 1)", Value::text("bc")),
        ("substring('abc', 5, 2)", Value::text("")),
        ("split('a,b,c', ',')", Value::text("[\"a\",\"b\",\"c\"]")),
        ("json(split('a,b', ','), '/1')", Value::text("b")),
        ("json('[{\"a\":1},{\"a\":2,\"b\":3}]', '$[*].a')", Value::text("[1,2]")),
        ("json('[{\"a\":1},{\"a\":2,\"b\":3}]', '$[?(@.b)].a')", Value::text("[2]")),
        ("json('[1,2,3]', '$[0:2]')", Value::text("[1,2]")),
        ("json(w, '$[*]')", Value::Nothing),
        ("join(split('a,b,c', ','), ' ')", Value::text("a b c")),
        ("join('[1, true, \"x\"]', '-')", Value::text("1-true-x")),
        ("url('a b/ä')", Value::text("a%20b%2F%C3%A4")),
        ("base64url('a?>~', 1)", Value::text("YT8-fjE")),
        ("base64_decode('YT8-fg') + base64_decode('YT8+fg==')", Value::text("a?>~a?>~")),
        ("hex('az')", Value::text("617a")),
        ("hex_decode('617A') + hex_decode('')", Value::text("az")),
        ("url_decode('a%20b%2F%c3%a4+%')", Value::text("a b/ä+%")),
        ("index_of('größe', 'ß')", Value::Int(3)),
        ("index_of(w, 'x')", Value::Int(-1)),
        ("pad(n, 4, '0') + pad('ab', 1) + pad('a', 4, 'xy')", Value::text("0005abxyxa")),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn numbers_are_rounded_and_compared() {
    for (expression, expected) in [
        ("round(2.5)", Value::Int(3)),
        ("round(-2.5)", Value::Int(-3)),
        ("round('2.345', 2)", Value::Float(2.35)),
        ("floor(-0.5)", Value::Int(-1)),
        ("ceil(n / 2)", Value::Int(3)),
        ("floor(t) + ceil(n)", Value::Int(17)),
        ("abs(-3) + abs(3)", Value::Int(6)),
        ("abs(0 - n - 0.5)", Value::Float(5.5)),
        ("min(n, t, 7)", Value::Int(5)),
        ("max(n, t, 7.5)", Value::Int(12)),
        ("max(-0.5)", Value::Float(-0.5)),
        ("random_float(2, 2)", Value::Float(2.0)),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
    let drawn = value("random_float(-1, 0.5)");
    assert!(matches!(drawn, Value::Float(x) if (-1.0..0.5).contains(&x)), "{drawn:?}");
}

#[test]
fn made_up_data_is_drawn_from_the_users_generator() {
    for kind in ["name", "email", "address", "words"] {
        let twice = format!("fake('{kind}') + '|' + fake('{kind}')");
        let text = value(&twice).to_text();
        let (one, two) = text.split_once('|').unwrap();
        assert_ne!(one, two);
        assert_eq!(value(&twice).to_text(), text, "{kind}");
    }
    assert_eq!(value("len(split(fake('words', n), ' ')) > 0"), Value::Bool(true));
    assert_eq!(value("items(split(fake('words', n, 'fr'), ' '))"), Value::Int(5));
    assert!(!value("fake('name', 'zh')").to_text().is_ascii());
    assert!(failure("fake('words', n - 5)").contains("fake: 0 is not in 1..=10000"));
}

#[test]
fn hashes_are_written_in_three_forms() {
    for (expression, expected) in [
        ("sha1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("md5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
        (
            "sha384('abc', 'base64')",
            "ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP/W+2AhgcroefMI1i67KE0yCWn",
        ),
        // RFC 4231 §4.2, whose key is bytes.
        (
            "hmac_sha256('0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b', 'Hi There', 'hex', 'hex')",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            "hmac_sha256('CwsLCwsLCwsLCwsLCwsLCwsLCws=', 'Hi There', 'hex', 'base64')",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        ("sha1('abc', 'base64')", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="),
        ("sha256('abc', 'base64url')", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"),
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
        ("date(0, 'rfc3339')", Value::text("1970-01-01T00:00:00.000+00:00")),
        ("date(now(), 'rfc3339')", Value::text("1970-01-01T00:00:01.234+00:00")),
        ("date(784111777000, 'http')", Value::text("Sun, 06 Nov 1994 08:49:37 GMT")),
        ("date(1711846800000, '%H:%M', 'Europe/Berlin')", Value::text("03:00")),
        ("date_ms('1970-01-02', '%Y-%m-%d')", Value::Int(86_400_000)),
        ("date_ms('1970-01-01T01:00:00+01:00', 'rfc3339')", Value::Int(0)),
        ("date_ms('Sun, 06 Nov 1994 08:49:37 GMT', 'http')", Value::Int(784_111_777_000)),
        ("date_ms('1970-01-01 01:00', '%Y-%m-%d %H:%M', 'Europe/Berlin')", Value::Int(0)),
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
fn texts_that_grow_are_not_built() {
    let found = failure("replace(pad(t, 5000, 'a'), 'a', pad(t, 5000, 'b'))");
    assert_eq!(found, "replace: the text would have more than 16777216 bytes");
    let found = failure("split(pad(t, 4194304, 'a'), '')");
    assert_eq!(found, "split: the list would have more than 16777216 bytes");
    for growing in ["url(LONG)", "hex(LONG + 'aaaa')", "base64url(LONG, LONG)"] {
        let found = failure(&growing.replace("LONG", "pad(t, 4194304, 'üü')"));
        assert_eq!(found, "the text has more than 16777216 bytes", "{growing}");
    }
}

#[test]
fn wrong_arguments_are_named() {
    for (expression, expected) in [
        ("join(w, ',')", "not a list in JSON"),
        (
            "json('[' + replace(pad('', 300000, '1'), '1', '1,') + '1]', '$[*]')",
            "too long for JSONPath",
        ),
        ("replace(w, nothing, 'x')", "to be replaced is empty"),
        ("base64_decode(w + '!')", "base64_decode"),
        ("sha1(w, 'octal')", "'hex', 'base64', 'base64url' or 'bytes'"),
        ("jwt(w, 'k')", "not a JSON object"),
        ("jwt('{}', w, 'XS256')", "jwt: there is no algorithm `XS256`; there are HS256, "),
        ("jwt('{}', w, 'RS256')", "jwt: the key holds no private key in PEM; RS256 needs"),
        ("jwt('{}', w, 'HS256', '[]')", "jwt: the header is not a JSON object"),
        ("jwt(w, file('key.pem'), 'RS256')", "jwt: the claims are not a JSON object"),
        ("hmac_sha1(w, w, 'hex', 'hex')", "the key is not hex"),
        ("hmac_sha1(w, w, 'hex', 'octal')", "no form of a key"),
        ("hex_decode(w)", "not hexadecimal"),
        ("hex_decode(replace(w, 'word', 'ff'))", "not UTF-8"),
        ("round(n / 3, 16)", "16 digits"),
        ("min(n, w)", "`word` is not a number"),
        ("pad(w, 9, nothing)", "pad:"),
        ("random_float(n, 1)", "the range is empty"),
        ("date(n, '%!')", "date:"),
        ("date(n, '%F', 'Mars/Olympus')", "no time zone `Mars/Olympus`"),
        ("date_ms(w, '%Y')", "date_ms:"),
        ("date_add(n, w)", "date_add:"),
        ("date(n * 1000000000000000000, '%F')", "beyond"),
    ] {
        let found = failure(expression);
        assert!(found.contains(expected), "{expression}: {found}");
    }
}
