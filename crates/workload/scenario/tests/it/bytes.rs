//! Bytes in expressions, and numbers that are drawn unevenly.

use plan::expr::{Context, Value};
use plan::{Op, Session, Slot};
use stats::rng::{Purpose, Rng};
use testkit::needs::root;

use crate::expressions::{failure, template, value};
use crate::{plan, rendered, with_steps};

fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.into())
}

#[test]
fn bytes_are_made_and_taken_apart() {
    for (expression, expected) in [
        ("bytes('aä')", bytes(b"a\xc3\xa4")),
        ("bytes('00fF80', 'hex')", bytes(&[0, 0xff, 0x80])),
        ("bytes('AP+ACg==', 'base64')", bytes(&[0, 0xff, 0x80, 0x0a])),
        ("bytes('AP-ACg', 'base64url')", bytes(&[0, 0xff, 0x80, 0x0a])),
        ("bytes('AD7YACQ=', 'base32')", bytes(&[0, 0xff, 0x80, b'\n'])),
        ("bytes(258, 'u32be') + bytes(n, 'u8')", bytes(&[0, 0, 1, 2, 5])),
        ("bytes(300, 'varint')", bytes(&[0xac, 2])),
        ("bytes(w) + 'x'", bytes(b"wordx")),
        ("len(bytes('ff00', 'hex'))", Value::Int(2)),
        ("substring(bytes('00ff8001', 'hex'), 1, 2)", bytes(&[0xff, 0x80])),
        ("substring(bytes('00ff8001', 'hex'), -1)", bytes(&[1])),
        ("substring(bytes('00ff', 'hex'), 7)", bytes(&[])),
        ("bytes('61', 'hex') == 'a'", Value::Bool(true)),
        ("bytes('ff', 'hex') == bytes('fe', 'hex')", Value::Bool(false)),
        ("str(bytes('c3a4', 'hex'))", Value::text("ä")),
        ("number_at(bytes('00ff8001', 'hex'), 'u16be')", Value::Int(255)),
        ("number_at(bytes('00ff8001', 'hex'), 'u16le', -2)", Value::Int(0x180)),
        ("number_at(bytes('00ff8001', 'hex'), 'varint', 1)", Value::Int(127 + (1 << 14))),
        ("msgpack('[1, null, \"ä\"]')", bytes(b"\x93\x01\xc0\xa2\xc3\xa4")),
        ("msgpack(n)", bytes(&[5])),
        ("msgpack(bytes('ff', 'hex'))", bytes(&[0xc4, 1, 0xff])),
        ("msgpack_decode(bytes('81a16105', 'hex'))", Value::text("{\"a\":5}")),
        ("json(msgpack_decode(msgpack('{\"a\": [7]}')), '/a/0')", Value::Int(7)),
        ("number_at(w, 'u8', 4)", Value::Nothing),
        ("number_at(w, 'u8', -5)", Value::Nothing),
        ("url(bytes('61ff', 'hex'))", Value::text("a%FF")),
        ("hex(bytes('61ff', 'hex'))", Value::text("61ff")),
        ("base64(bytes('00ff800a', 'hex'))", Value::text("AP+ACg==")),
        ("base64url(bytes('00ff800a', 'hex'))", Value::text("AP-ACg")),
        ("len(random_bytes(17))", Value::Int(17)),
        ("random_bytes(16) == random_bytes(16)", Value::Bool(false)),
        ("len(random_bytes(0))", Value::Int(0)),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
    // The same user of the same seed draws the same bytes.
    assert_eq!(value("random_bytes(16)"), value("random_bytes(16)"));
}

/// Python 3.12: `hashlib.sha256(b).hexdigest()`, `base64.b64encode(hashlib.sha1(b).digest())` and
/// `hmac.new(key, b, "sha256").hexdigest()`, with b = bytes([0, 0xff, 0x80, 0x0a]).
#[test]
fn hashes_of_bytes_are_those_of_python() {
    for (expression, expected) in [
        (
            "sha256(bytes('00ff800a', 'hex'))",
            "6d6f7836f1e146dc0204afb5133dae52fdc05603d8ac2dc793b481b0e0829fd1",
        ),
        ("md5(bytes('00ff800a', 'hex'))", "1f6d00cbabcca8fc08047742afdf6cf0"),
        ("sha1(bytes('00ff800a', 'hex'), 'base64')", "gkH1GJbgXa6zATT27ZZbLoWYyWg="),
        // hashlib.sha256(hashlib.sha256(b"abc").digest()).hexdigest()
        (
            "sha256(sha256('abc', 'bytes'))",
            "4f8b42c22dd3729b519ba6f68d2da7cc5b2d606d05daed5ad5128cc03e6c6358",
        ),
        // hmac.new(bytes.fromhex("00ff80"), bytes([0xfe, 1]), "sha256").hexdigest()
        (
            "hmac_sha256(bytes('00ff80', 'hex'), bytes('fe01', 'hex'))",
            "b5483a93b7bc72116f18bd3287cc48e610d774367c1156f6a592be0c6de8aedf",
        ),
        (
            "hmac_sha256('00ff80', bytes('fe01', 'hex'), 'hex', 'hex')",
            "b5483a93b7bc72116f18bd3287cc48e610d774367c1156f6a592be0c6de8aedf",
        ),
    ] {
        assert_eq!(value(expression), Value::text(expected), "{expression}");
    }
}

#[test]
fn wrong_bytes_are_named() {
    for (expression, expected) in [
        ("bytes(w, 'hex')", "bytes: the text is not hex"),
        ("bytes(w + '!', 'base32')", "bytes: the text is not base32"),
        ("bytes('A' + n, 'base32')", "bytes: the text is not base32"),
        ("bytes(w, 'octal')", "`octal` is no form of bytes; the forms are 'text', 'hex', "),
        ("bytes(w, 'u8')", "is not a number"),
        ("bytes(n * 100, 'u8')", "500 does not fit into 1 bytes"),
        ("number_at(w, 'u7')", "`u7` is no form of a number"),
        ("msgpack(w)", "msgpack: the text is not JSON: "),
        ("msgpack_decode(bytes(n, 'u8') + bytes(0, 'u8'))", "msgpack_decode: 1 bytes follow"),
        ("str(bytes(n + 250, 'u8'))", "str: the bytes are not UTF-8"),
        ("bytes(w) * 2", "a value of 4 bytes is not a number"),
        ("random_bytes(n - 6)", "random_bytes(-1): the count is not in 0..=65536"),
        ("zipfian(n - 5)", "zipfian(0): there is nothing to draw"),
        ("latest(n, 1)", "latest: the skew must be above 0 and below 1, not 1"),
        ("hotspot(n, 20)", "hotspot: the share of hot items must be from 0 to 1, not 20"),
        ("pick_at(n, 'a', 'b')", "pick_at(5, …): the place is not in 0..2"),
    ] {
        let found = failure(expression);
        assert!(found.contains(expected), "{expression}: {found}");
    }
}

/// Bytes that are the same for all users stay bytes where a template is written.
#[test]
fn bytes_keep_their_place_in_a_template() {
    let mut user = User::default();
    let text = template("bytes('ff', 'hex')");
    let mut out = Vec::new();
    text.render(&mut user, &mut out).unwrap();
    assert_eq!(out, [0xff]);
}

#[test]
fn places_are_drawn_with_their_popularity() {
    for (expression, below) in [
        ("zipfian(100)", 100),
        ("zipfian(100, 0.5)", 100),
        ("latest(7)", 7),
        ("hotspot(10)", 10),
        ("hotspot(10, 0.1, 0.9)", 10),
    ] {
        let drawn = value(expression);
        assert!(
            matches!(drawn, Value::Int(n) if (0..below).contains(&n)),
            "{expression}: {drawn:?}"
        );
        assert_eq!(value(expression), drawn, "{expression}");
    }
    assert_eq!(value("zipfian(1) + latest(1) + hotspot(1)"), Value::Int(0));
    assert_eq!(value("pick_at(1, n / 0, w, n / 0)"), Value::text("word"));
    let mut user = User::default();
    let template = template("zipfian(10)");
    let mut counts = [0_u32; 10];
    for _ in 0..10_000 {
        let Value::Int(drawn) = template.eval(&mut user).unwrap() else { panic!("no number") };
        counts[drawn as usize] += 1;
    }
    // One in the sum of i^-0.99 for i from 1 to 10, which is 2.9561, is item 0: a standard deviation of 47.
    assert!((3242..3524).contains(&counts[0]), "{counts:?}");
}

/// The bytes are written out after the encoding's documentation.
#[test]
fn messages_of_protocol_buffers_are_values() {
    let scenario = |expression: &str| {
        let steps = "- set: { words: { text: hi, numbers: [1, -1], mood: LOUD } }";
        let set = format!("{steps}\n- set: {{ found: \"${{{expression}}}\" }}\n");
        with_steps(&set).replacen("target:", "grpc: { protos: echo.proto }\ntarget:", 1)
    };
    let found = |expression: &str| {
        let plan = plan(&scenario(expression));
        let mut user = User::default();
        run_sets(&plan.sessions[0], &mut user);
        let place = plan.sessions[0].slot_names.iter().position(|name| name == "found").unwrap();
        user.vars.swap_remove(place)
    };
    let message = bytes(b"\x0a\x02hi\x10\x02\x10\x01\x20\x01");
    assert_eq!(found("protobuf('throng.echo.Words', words)"), message);
    let back =
        "json(protobuf_decode('throng.echo.Words', protobuf('throng.echo.Words', words)), '/mood')";
    assert_eq!(found(back), Value::text("LOUD"));
    let unknown = rendered(&scenario("protobuf('Words', words)"), &[]);
    assert!(unknown.contains("the `.proto` files have no message `Words`"), "{unknown}");
    let none = rendered(&with_steps("- set: { a: \"${protobuf('Words', 1)}\" }"), &[]);
    assert!(none.contains("no `.proto` file that could be read is named"), "{none}");
}

/// A user whose variables the steps of a session set.
struct User {
    vars: Vec<Value>,
    now_ms: i64,
    rng: Rng,
}

impl Default for User {
    fn default() -> Self {
        User { vars: vec![Value::Nothing; 8], now_ms: 0, rng: Rng::new(1, 7, Purpose::Value) }
    }
}

impl Context for User {
    fn var(&self, slot: Slot) -> &Value {
        &self.vars[slot.index()]
    }

    fn user(&self) -> u64 {
        0
    }

    fn iteration(&self) -> u64 {
        0
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

/// Runs all steps of a session that set variables.
fn run_sets(session: &Session, user: &mut User) {
    for op in &session.ops {
        if let Op::Set { slot, value } = op {
            user.vars[slot.index()] = value.eval(user).expect("the value of a step");
        }
    }
}

/// The code that the scenario sends at a time, in seconds since the Unix epoch. Its key is that of RFC 6238,
/// appendix B.
fn code(at_s: i64) -> String {
    let text =
        std::fs::read_to_string(root().join("testdata/needs/totp.yaml")).expect("the scenario");
    let plan = plan(&text);
    let session = &plan.sessions[0];
    let mut user = User { now_ms: at_s * 1000, ..User::default() };
    run_sets(session, &mut user);
    let code = session.slot_names.iter().position(|name| name == "code").expect("a variable");
    user.vars[code].to_text().to_string()
}

/// RFC 6238, appendix B, for SHA-1: eight digits, of which the scenario takes the last six.
#[test]
fn one_time_passwords_are_those_of_the_rfc() {
    for (at_s, expected) in [
        (59, "94287082"),
        (1_111_111_109, "07081804"),
        (1_111_111_111, "14050471"),
        (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"),
        (20_000_000_000, "65353130"),
    ] {
        assert_eq!(code(at_s), expected[2..], "{at_s}");
    }
}
