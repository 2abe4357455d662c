//! Calls, limits and what is promised of them.

use std::fmt::Write;

use machine::clock::thread_cpu_ns;
use plan::expr::Value;
use plan::{Script, ScriptFile, ScriptStep};
use proptest::prelude::*;
use stats::rng::{Purpose, Rng};

use crate::{Console, Context, Fault, Limits, Surroundings};

const LIMITS: Limits = Limits { time_max_ns: 50_000_000, memory_bytes_max: 32 << 20 };

fn file(name: &str, text: &str) -> ScriptFile {
    ScriptFile { name: name.to_owned(), text: text.into() }
}

fn load(text: &str) -> Context {
    Context::load(&[file("script.js", text)], &[], LIMITS)
        .unwrap_or_else(|fault| panic!("{fault:?}"))
}

fn fault(text: &str) -> (String, Option<(u32, u32)>) {
    match Context::load(&[file("script.js", text)], &[], LIMITS) {
        Ok(_) => panic!("it was loaded: {text}"),
        Err(fault) => (fault.message, fault.place),
    }
}

fn rng() -> Rng {
    Rng::new(1, 7, Purpose::Value)
}

fn call_with(
    context: &mut Context,
    name: &str,
    arguments: &[Value],
    rng: &mut Rng,
) -> Result<Value, String> {
    let function = context.function(name).unwrap();
    let mut around = Surroundings { now_ms: 1_700_000_000_123, rng };
    let found = context.call(function, arguments, &mut around);
    found.map_err(|failure| failure.0)
}

fn call(context: &mut Context, name: &str, arguments: &[Value]) -> Result<Value, String> {
    call_with(context, name, arguments, &mut rng())
}

/// What the expression is as the body of a function.
fn value(expression: &str) -> Result<Value, String> {
    let text = format!("function f(x) {{ return {expression}; }}");
    call(&mut load(&text), "f", &[])
}

fn failure(expression: &str) -> String {
    match value(expression) {
        Err(text) => text,
        Ok(found) => panic!("{expression} is {found:?}"),
    }
}

#[test]
fn values_keep_their_kind_both_ways() {
    let mut context = load("const same = (x) => x;");
    for value in [
        Value::Nothing,
        Value::Bool(true),
        Value::Int(0),
        Value::Int(-7),
        Value::Int(1 << 40),
        Value::Int((1 << 53) - 1),
        Value::Float(0.5),
        Value::text(""),
        Value::text("ä \u{1F600} \"quoted\"\n"),
        Value::text(r#"{"a":[1,2]}"#),
        Value::Bytes([0xff, 0, 7].into()),
        Value::Bytes([].into()),
    ] {
        assert_eq!(call(&mut context, "same", std::slice::from_ref(&value)), Ok(value));
    }
    // No number of JavaScript holds it, so it is a text of the same digits.
    for digits in ["9223372036854775807", "12345678901234567890", "-123456789012345678901"] {
        let large = Value::from_json(digits);
        assert_eq!(call(&mut context, "same", &[large]), Ok(Value::text(digits)));
    }
    let price = Value::from_json("10.50");
    assert_eq!(call(&mut context, "same", &[price]), Ok(Value::Float(10.5)));
}

#[test]
fn what_is_no_value_becomes_json_or_an_error() {
    assert_eq!(value("undefined"), Ok(Value::Nothing));
    assert_eq!(value("({a: [1, null, 'x']})"), Ok(Value::text(r#"{"a":[1,null,"x"]}"#)));
    assert_eq!(value("[1, 2]"), Ok(Value::text("[1,2]")));
    assert_eq!(value("2 ** 60"), Ok(Value::Float(1_152_921_504_606_846_976.0)));
    for (expression, said) in [
        ("NaN", "NaN, which is no number here"),
        ("1 / 0", "inf, which is no number here"),
        ("new Uint8Array(65537)", "more than 65,536 bytes"),
        ("f", "a function or a symbol"),
        ("Symbol('a')", "a function or a symbol"),
        ("(() => { const a = {}; a.a = a; return a; })()", "circular"),
        ("'\\ud800'", "half of a surrogate pair"),
    ] {
        let text = failure(expression);
        assert!(text.starts_with("`f`: ") && text.contains(said), "{expression}: {text}");
    }
}

#[test]
fn errors_say_function_and_place() {
    let text = "function inner(x) {\n  return x.y.z;\n}\nconst outer = () => inner({});\nfunction odd() { throw {a: 1}; }\n";
    let mut context = load(text);
    let said = call(&mut context, "outer", &[]).unwrap_err();
    assert!(said.starts_with("`outer`: TypeError: "), "{said}");
    assert!(said.contains(", at script.js:2:"), "{said}");
    assert_eq!(call(&mut context, "odd", &[]), Err(r#"`odd`: it threw {"a":1}"#.to_owned()));
    assert_eq!(context.function("absent"), None);
    assert_eq!(context.function("parseInt"), None);
}

#[test]
fn faults_of_a_text_have_a_place() {
    let (message, place) = fault("const a = 1;\nconst b = ;\n");
    assert!(message.starts_with("SyntaxError: "), "{message}");
    assert_eq!(place.map(|(line, _)| line), Some(2));
    let (message, place) = fault("const a = 1;\n\nmissing();\n");
    assert!(message.contains("missing"), "{message}");
    assert_eq!(place.map(|(line, _)| line), Some(3));
    let (message, _) = fault("f(import x from 'y');");
    assert!(message.starts_with("SyntaxError: "), "{message}");
    assert!(fault("const a = Date.now();").0.contains("at the top of a script"));
    assert!(fault("const a = Math.random();").0.contains("at the top of a script"));
    assert!(fault("(async () => { await null; })();").0.contains("promises"));
}

#[test]
fn a_top_level_that_can_be_assigned_is_refused() {
    let (message, place) =
        fault("const a = 1;\nlet counter = 0;\nfunction f() { return counter++; }");
    assert!(message.starts_with("`counter` can be assigned"), "{message}");
    assert_eq!(place, Some((2, 5)));
    let declared = load(
        "const a = 1; var b = [2]; class C { m() {} } function f() { let inner = 1; return inner; }",
    );
    assert_eq!(declared.declared(), ["C", "a", "b", "f"]);
    assert_eq!(
        load("const a = 1; const g = () => a; function f() {}").function_names(),
        ["f", "g"]
    );
}

#[test]
fn nothing_is_left_from_one_call_to_the_next() {
    let mut context = load(
        "const cache = { inner: {} }; const list = [1]; const map = new Map([['a', {}]]); const set = new Set();
         var counter = 0; const word = /a/g;
         function f() { f.calls = 1; } function g() { cache.inner.x = 1; } function h() { list.push(2); }
         function i() { map.set('b', 1); } function j() { map.get('a').x = 1; } function k() { set.add(1); }
         function l() { counter++; } function m() { globalThis.x = 1; } function n() { y = 1; }
         function o() { Math.x = 1; } function p() { Array.prototype.x = 1; } function q() { JSON.parse = 1; }
         function r() { return word.test('aa'); } function s() { return 'aab'.replace(word, 'c'); }",
    );
    for name in ["f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"] {
        let said = call(&mut context, name, &[]).unwrap_err();
        assert!(said.contains("TypeError") || said.contains("ReferenceError"), "{name}: {said}");
    }
    for _ in 0..4 {
        assert_eq!(call(&mut context, "r", &[]), Ok(Value::Bool(true)));
    }
    assert_eq!(call(&mut context, "s", &[]), Ok(Value::text("ccb")));
    // What all objects inherit can still be hidden by their own.
    let own = "(() => { const e = new Error('x'); e.name = 'Mine'; const o = {}; o.toString = 1; return e.name; })()";
    assert_eq!(value(own), Ok(Value::text("Mine")));
}

#[test]
fn clock_and_random_numbers_are_the_users() {
    let mut context = load(
        "function draw() { return Math.random(); }
         function time() { return [Date.now(), new Date().getTime(), new Date().toISOString(), new Date(2024, 1, 3, 4).getHours(),
             new Date('2024-01-02T03:04:05').toISOString(), new Date(0).getTimezoneOffset(), typeof Date(), Date.UTC(1970, 0)]; }",
    );
    let mut own = rng();
    let mut same = rng();
    for _ in 0..3 {
        let drawn = call_with(&mut context, "draw", &[], &mut own);
        assert_eq!(drawn, Ok(Value::Float(same.unit())));
    }
    assert_eq!(own.next_u64(), same.next_u64());
    let expected = r#"[1700000000123,1700000000123,"2023-11-14T22:13:20.123Z",4,"2024-01-02T03:04:05.000Z",0,"string",0]"#;
    assert_eq!(call(&mut context, "time", &[]), Ok(Value::text(expected)));
}

#[test]
fn calls_end_at_their_limits() {
    let took = "it took longer than 50 ms (`options.script_time_max`)";
    for endless in [
        "(() => { while (true) {} })()",
        "(() => { while (true) { try { while (true) {} } catch (e) {} } })()",
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "[3, 1, 2].sort(() => { while (true) {} })",
    ] {
        assert!(failure(endless).contains(took), "{endless}");
    }
    for large in [
        "(() => { const a = []; while (true) a.push('x'.repeat(1e6) + a.length); })()",
        "'x'.repeat(1e9)",
        "new Uint8Array(1e9).length",
    ] {
        let text = failure(large);
        // Whichever limit it meets first.
        let is_known = ["32 MiB", "RangeError", took].iter().any(|limit| text.contains(limit));
        assert!(is_known, "{large}: {text}");
    }
    let deep = failure("(function g(n) { return g(n + 1) + 1; })(0)");
    assert!(deep.contains("stack"), "{deep}");
    let nested = failure("JSON.parse('['.repeat(2e5))");
    assert!(nested.contains("stack") || nested.contains("SyntaxError"), "{nested}");
}

#[test]
fn there_are_no_big_integers() {
    // One operation on two of a million bits takes a fifth of a second, and no operator looks at the time.
    for text in ["const a = 1n;", "const a = 0xFFn;", "const a = 1_000n;", "const a = [-7n];"] {
        let (message, place) = fault(text);
        assert!(message.contains("BigInt"), "{text}: {message}");
        assert_eq!(place.map(|(line, _)| line), Some(1), "{text}");
    }
    let mut context = load("");
    let fault =
        context.step(&step("const a = 1;\nreturn { b: a + 0n };", &[], &["b"])).unwrap_err();
    assert!(fault.message.contains("BigInt"), "{fault:?}");
    assert_eq!(fault.place, Some((21, 17)));
    for name in ["BigInt", "BigInt64Array", "BigUint64Array"] {
        assert_eq!(value(&format!("typeof {name}")), Ok(Value::text("undefined")), "{name}");
    }
    for method in ["getBigInt64", "getBigUint64", "setBigInt64", "setBigUint64"] {
        let found = format!("typeof new DataView(new ArrayBuffer(8)).{method}");
        assert_eq!(value(&found), Ok(Value::text("undefined")), "{method}");
    }
    // Names that look alike are none.
    load("const a1n = 1; const $1n = 2; const in1n = [a1n, $1n]; const text = '2 min, 1 on';");
}

#[test]
fn arguments_that_take_too_long_to_hand_over_are_refused() {
    let limits = Limits { time_max_ns: 1_000_000, ..LIMITS };
    let mut context =
        Context::load(&[file("script.js", "const f = (x) => x.length;")], &[], limits).unwrap();
    let said = call(&mut context, "f", &[Value::text(&"a".repeat(4 << 20))]).unwrap_err();
    assert!(said.contains("`arguments` of this much may take longer"), "{said}");
    assert_eq!(call(&mut context, "f", &[Value::text("abc")]), Ok(Value::Int(3)));
}

#[test]
fn what_may_not_end_in_time_is_not_begun() {
    for (long, name) in [
        ("(() => { const a = []; a.length = 4e9; return a.indexOf(1); })()", "indexOf"),
        ("Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", "indexOf"),
        ("[].concat({ length: 2 ** 40, [Symbol.isConcatSpreadable]: true })", "concat"),
        ("[].sort.call({ length: 1e8 })", "sort"),
        ("Array.from({ length: 1e8 })", "from"),
        ("Object.fromEntries({ length: 1e8 })", "fromEntries"),
        ("[...new Array(1e6)]", "values"),
        ("Math.max(...new Array(1e6))", "values"),
        ("[...'a'.repeat(1000).repeat(5000)]", "[Symbol.iterator]"),
        ("'a'.repeat(1e8)", "repeat"),
        ("''.padStart(1e8)", "padStart"),
        ("'a'.repeat(1000).repeat(5000).indexOf('a'.repeat(1000).repeat(2000) + 'b')", "indexOf"),
        ("'a'.repeat(1000).repeat(5000).replaceAll('a', 'b')", "replaceAll"),
        ("'a'.repeat(1000).repeat(5000).toUpperCase()", "toUpperCase"),
        ("JSON.parse('\"' + 'a'.repeat(1000).repeat(5000) + '\"')", "parse"),
    ] {
        let text = failure(long);
        let said = format!("RangeError: `{name}` of this much may take longer than");
        assert!(text.contains(&said), "{long}: {text}");
    }
    // How many parts there are is known only when it has begun.
    let parts = failure("'a'.repeat(1000).repeat(5000).split('')");
    let is_limit = parts.contains("options.script_time_max") || parts.contains("32 MiB");
    assert!(is_limit, "{parts}");
    assert_eq!(value("[1, 2, 3].map((x) => x * 2).indexOf(4)"), Ok(Value::Int(1)));
    assert_eq!(value("'a,b'.split(',').concat(['c'], 'd').join('')"), Ok(Value::text("abcd")));
    assert_eq!(value("'a,b,c'.split(',', 2)"), Ok(Value::text(r#"["a","b"]"#)));
    assert_eq!(value("'a,'.repeat(1000).split(',').length"), Ok(Value::Int(1001)));
    assert_eq!(value("'a,'.repeat(1000).split(',', 7).length"), Ok(Value::Int(7)));
    let written = "JSON.stringify({ a: [1, undefined], b: new Date(0), c: () => 1 }, null, 1)";
    let lines = "{\n \"a\": [\n  1,\n  null\n ],\n \"b\": \"1970-01-01T00:00:00.000Z\"\n}";
    assert_eq!(value(written), Ok(Value::text(lines)));
}

/// What takes long in QuickJS itself, so that few of its own looks at the time happen in a loop of it.
const LONG: &str = include_str!("built_in.txt");

#[test]
fn no_loop_of_built_in_functions_outlasts_its_call() {
    // The promise is 5 ms; tests run without optimisation.
    const BEYOND_NS_MAX: u64 = 100_000_000;
    let limits = Limits { time_max_ns: 10_000_000, ..LIMITS };
    let mut text = "
        const list = Array.from({ length: 5000 }, (_, i) => i % 7);
        const text = 'a,'.repeat(2500);
        const digits = '1'.repeat(5000);
        const bytes = new Uint8Array(5000);
        const object = Object.fromEntries(list.map((x, i) => ['k' + i, x]));
        const json = JSON.stringify(list);
        const map = new Map(list.map((x, i) => [i, x]));
        const set = new Set(map.keys());
        function first() { return list.length; }
    "
    .to_owned();
    let bodies: Vec<&str> = LONG.trim().lines().collect();
    for (at, body) in bodies.iter().enumerate() {
        writeln!(text, "function f{at}() {{ for (;;) {{ {body}; }} }}").unwrap();
    }
    let mut context = Context::load(&[file("script.js", &text)], &[], limits)
        .unwrap_or_else(|fault| panic!("{fault:?}"));
    for (at, body) in bodies.iter().enumerate() {
        let name = format!("f{at}");
        context.function(&name);
        let since_ns = thread_cpu_ns();
        let said = call(&mut context, &name, &[]).unwrap_err();
        let used_ns = thread_cpu_ns() - since_ns;
        let is_limit = said.contains("it took longer than 10 ms")
            || said.contains("may take longer than what is left of 10 ms");
        assert!(is_limit, "{body}: {said}");
        let beyond_ns = used_ns.saturating_sub(limits.time_max_ns);
        assert!(beyond_ns < BEYOND_NS_MAX, "{body}: {beyond_ns} ns beyond its time");
    }
    assert_eq!(call(&mut context, "first", &[]), Ok(Value::Int(5000)));
}

#[test]
fn nothing_that_is_built_in_can_be_changed() {
    let limits = Limits { time_max_ns: 30_000_000_000, ..LIMITS };
    let text = format!(
        "{}\nfunction upper() {{ return 'x'.toUpperCase() + [1].map(String) + [...'ab'].length; }}",
        include_str!("survey.js")
    );
    let mut context = Context::load(&[file("script.js", &text)], &[], limits)
        .unwrap_or_else(|fault| panic!("{fault:?}"));
    let Value::Text(found) = call(&mut context, "survey", &[]).unwrap() else {
        panic!("it returns an object");
    };
    assert!(found.ends_with(r#","changed":[]}"#), "{found}");
    let seen = found.trim_start_matches(r#"{"seen":"#).split(',').next().unwrap();
    assert!(seen.parse::<usize>().unwrap() > 500, "{seen}");
    assert_eq!(call(&mut context, "upper", &[]), Ok(Value::text("X12")));
}

#[test]
fn a_step_cannot_leave_a_method_to_the_next_user() {
    for text in [
        "const own = vars.a; String.prototype.toUpperCase = () => own;",
        "Object.prototype.toString = () => vars.a;",
        "(function* () {}).constructor.prototype.leak = vars.a;",
        "(async () => {})().__proto__.then = () => vars.a;",
        "Error.prepareStackTrace = () => vars.a;",
        "/a/.compile('b');",
        "Function('return 1')();",
        "(() => {}).constructor('return 1')();",
        "(async () => {}).constructor('return 1')();",
    ] {
        let mut context = load("");
        let number = context.step(&step(text, &["a"], &[])).unwrap();
        let mut rng = rng();
        let mut around = Surroundings { now_ms: 5, rng: &mut rng };
        let found = context.run(number, &[Value::text("secret")], &mut around);
        let said = found.unwrap_err().0;
        assert!(said.contains("TypeError"), "{text}: {said}");
        assert!(!said.contains("secret"), "{text}: {said}");
    }
}

#[test]
fn what_a_script_keeps_at_its_top_is_as_it_was_for_every_call() {
    let mut context = load(
        "const map = new Map([['a', {}]]); const set = new Set([1]); const weak = new WeakMap(); const key = {};
         const date = new Date(0); const bytes = new Uint8Array([1, 2]); const word = /a/g; class Name {}
         const Fixed = class {};
         function a() { Map.prototype.set.call(map, 'b', 1); } function b() { Set.prototype.clear.call(set); }
         function c() { weak.set(key, 1); } function d() { date.setTime(5); } function e() { bytes.buffer.transfer(); }
         function f() { word.leak = 1; } function g() { bytes.leak = 1; } function h() { Name.leak = 1; }
         function i() { Fixed = 1; }
         function spoil() { bytes[0] = 7; word.lastIndex = 1; Name = 'of another user'; return 1; }
         function seen() { return [bytes[0], word.lastIndex, typeof Name, date.getTime(), map.size, set.size]; }",
    );
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        let said = call(&mut context, name, &[]).unwrap_err();
        assert!(said.contains("TypeError"), "{name}: {said}");
    }
    assert_eq!(call(&mut context, "spoil", &[]), Ok(Value::Int(1)));
    assert_eq!(call(&mut context, "seen", &[]), Ok(Value::text(r#"[1,0,"function",0,1,1]"#)));
    for (text, said) in [
        ("const ids = [1, 2].values();", "an iterator"),
        ("const ids = (function* () { yield 1; })();", "an iterator"),
        ("const all = { deep: [new Map().keys()] };", "an iterator"),
        ("const table = new Uint8Array(70000);", "64 KiB"),
    ] {
        let (message, _) = fault(text);
        assert!(message.contains(said), "{text}: {message}");
    }
    // What inherits from them keeps nothing.
    load(
        "const ids = function* () { yield 1; }; class Own extends Map {} class Odd extends RegExp {}",
    );
}

#[test]
fn a_context_works_after_each_failure() {
    let mut context = load(
        "function endless() { while (true) {} }
         function large() { const a = []; while (true) a.push('x'.repeat(10000) + a.length); }
         function later() { (async () => { await null; })(); return 1; }
         async function promised() { return 1; }
         function fine() { return 1; }",
    );
    for name in ["endless", "large", "later", "promised"] {
        assert!(call(&mut context, name, &[]).is_err(), "{name}");
        assert_eq!(call(&mut context, "fine", &[]), Ok(Value::Int(1)), "after {name}");
    }
    let said = call(&mut context, "later", &[]).unwrap_err();
    assert!(said.contains("promises"), "{said}");
    assert_eq!(context.take_used().0, 9);
    assert_eq!(context.take_used(), (0, 0));
}

#[test]
fn the_least_memory_suffices_for_a_context() {
    let limits = Limits { memory_bytes_max: 2 << 20, ..LIMITS };
    let context = Context::load(&[file("script.js", "function f() { return 1; }")], &[], limits);
    assert_eq!(call(&mut context.unwrap(), "f", &[]), Ok(Value::Int(1)));
}

#[test]
fn lines_are_kept_until_they_are_taken() {
    let mut context = load(
        "function say(...values) { console.log(...values); console.warn('again'); }
         function many(n) { for (let at = 0; at < n; at++) console.info(at); }
         function odd() { const ring = {}; ring.own = ring; console.error(ring, undefined, () => 1, [1, 'a'], new RangeError('no')); }
         function long() { console.debug('x'.repeat(5000) + '\\u{d800}'); }",
    );
    let texts = |context: &mut Context| -> Vec<String> {
        context.take_console().lines.into_iter().map(|line| line.text).collect()
    };
    call(&mut context, "say", &[Value::text("a"), Value::Int(7), Value::Nothing]).unwrap();
    let console = context.take_console();
    assert_eq!(console.lines[0].unix_ms, 1_700_000_000_123);
    let said: Vec<&str> = console.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!((said, console.dropped), (vec!["a 7 null", "again"], 0));
    call(&mut context, "odd", &[]).unwrap();
    assert_eq!(texts(&mut context), ["[object] undefined () => 1 [1,\"a\"] RangeError: no"]);
    call(&mut context, "long", &[]).unwrap();
    assert_eq!(texts(&mut context)[0].chars().count(), 1000);
    call(&mut context, "many", &[Value::Int(103)]).unwrap();
    let console = context.take_console();
    assert_eq!((console.lines.len(), console.dropped), (Console::LINES_MAX, 3));
    assert!(fault("console.log(1);").0.contains("which no user runs"));
}

#[test]
fn nothing_leads_outside() {
    for name in [
        "require",
        "process",
        "std",
        "os",
        "fetch",
        "XMLHttpRequest",
        "setTimeout",
        "performance",
        "Promise",
        "WeakRef",
        "print",
        "Atomics",
        "SharedArrayBuffer",
    ] {
        assert_eq!(value(&format!("typeof {name}")), Ok(Value::text("undefined")), "{name}");
    }
    let said = failure("import('fs')");
    assert!(said.contains("promise"), "{said}");
}

fn step(text: &str, inputs: &[&str], outputs: &[&str]) -> ScriptStep {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    ScriptStep {
        text: text.into(),
        file: None,
        line: 20,
        inputs: owned(inputs),
        outputs: owned(outputs),
    }
}

fn run(text: &str, outputs: &[&str]) -> Result<Vec<Value>, String> {
    let script = Script {
        files: vec![file("script.js", "const twice = (x) => 2 * x;")],
        imports: Vec::new(),
        declared: vec!["twice".to_owned()],
        functions: Vec::new(),
        steps: vec![step(text, &["a", "b"], outputs)],
        time_max_ns: LIMITS.time_max_ns,
        memory_bytes_max: LIMITS.memory_bytes_max,
    };
    let mut context = Context::new(&script).unwrap_or_else(|fault| panic!("{fault:?}"));
    let mut rng = rng();
    let mut around = Surroundings { now_ms: 5, rng: &mut rng };
    let inputs = [Value::Int(7), Value::text("x")];
    let found = context.run(0, &inputs, &mut around);
    found.map_err(|failure| failure.0)
}

#[test]
fn files_share_one_scope() {
    let first =
        file("lib/units.js", "const RATE = 1.19;\nfunction gross(net) { return net * RATE; }");
    let second =
        file("shop.js", "const total = (a, b) => gross(a + b);\nconst broken = () => null.x;");
    let mut context = Context::load(&[first.clone(), second], &[], LIMITS).unwrap();
    assert_eq!(context.function_names(), ["gross", "broken", "total"]);
    assert_eq!(call(&mut context, "total", &[Value::Int(60), Value::Int(40)]), Ok(Value::Int(119)));
    let said = call(&mut context, "broken", &[]).unwrap_err();
    assert!(said.contains(", at shop.js:2:"), "{said}");
    for text in [
        "function gross() { return 1; }",
        "const gross = 1;",
        "function RATE() {}",
        "const RATE = 2;",
        "class gross {}",
        "var gross = 3;",
    ] {
        let fault = Context::load(&[first.clone(), file("b.js", text)], &[], LIMITS).unwrap_err();
        assert_eq!(fault.file.as_deref(), Some("b.js"), "{text}: {fault:?}");
    }
}

/// Loads files with the modules that they import, of which these are all there are.
fn load_modules(files: &[ScriptFile], others: &[(&str, &str)]) -> Result<Context, Fault> {
    let read = |name: &str| {
        let found = others.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "there is no such file".to_owned())
    };
    let imports = Context::imports(files, LIMITS, &read)?;
    Context::load(files, &imports, LIMITS)
}

#[test]
fn modules_import_each_other_and_export_functions() {
    let main = file(
        "shop.js",
        "import { gross as withTax, RATE } from './lib/tax.js';\n\
         import total from \"./node_modules/sum/index.mjs\";\n\
         export const price = (a, b) => withTax(total([a, b]));\n\
         export function broken() {\n  const nothing = null;\n  return nothing.x;\n}\n\
         const hidden = () => RATE;\nexport default hidden;\n",
    );
    let others = [
        (
            "lib/tax.js",
            "export * from './rates.js';\nimport { RATE } from './rates.js';\nexport function gross(net) { return net * RATE; }",
        ),
        (
            "lib/rates.js",
            "import { gross } from './tax.js';\nexport const RATE = 1.5;\nexport const ofGross = (x) => gross(x);",
        ),
        (
            "node_modules/sum/index.mjs",
            "export default (list) => list.reduce((sum, x) => sum + x, 0);",
        ),
    ];
    let mut context = load_modules(std::slice::from_ref(&main), &others).unwrap();
    assert_eq!(context.function_names(), ["broken", "price"]);
    assert_eq!(call(&mut context, "price", &[Value::Int(60), Value::Int(40)]), Ok(Value::Int(150)));
    let said = call(&mut context, "broken", &[]).unwrap_err();
    assert!(said.contains(", at shop.js:6:"), "{said}");
    // What a module exports is there for the files after it, and for steps.
    let after = file("after.js", "const twice = (x) => price(x, x);");
    let mut context = load_modules(&[main, after], &others).unwrap();
    assert_eq!(call(&mut context, "twice", &[Value::Int(2)]), Ok(Value::Int(6)));
    // A loop loads the same without looking for anything.
    let read =
        |name: &str| Ok(others.iter().find(|(known, _)| *known == name).unwrap().1.to_owned());
    let files = [file(
        "main.js",
        "import { gross } from './lib/tax.js';\nexport const f = (x) => gross(x);",
    )];
    let imports = Context::imports(&files, LIMITS, &read).unwrap();
    assert_eq!(
        imports.iter().map(|file| &*file.name).collect::<Vec<_>>(),
        ["lib/tax.js", "lib/rates.js"]
    );
    let declared = Context::load(&files, &imports, LIMITS).unwrap().declared().to_vec();
    let script = Script {
        files: files.to_vec(),
        imports,
        declared,
        functions: vec!["f".to_owned()],
        steps: Vec::new(),
        time_max_ns: LIMITS.time_max_ns,
        memory_bytes_max: LIMITS.memory_bytes_max,
    };
    let mut context = Context::new(&script).unwrap();
    assert_eq!(call(&mut context, "f", &[Value::Int(2)]), Ok(Value::Int(3)));
}

#[test]
fn faults_of_modules_name_their_file_and_line() {
    let main = "const a = 1;\nimport { b } from './lib/b.js';\nexport const f = () => b;\n";
    for (main, other, file_name, line, said) in [
        (main, "export const b = ;", "lib/b.js", 1, "SyntaxError"),
        (main, "export const b = 1;\nmissing();", "lib/b.js", 2, "missing"),
        (
            main,
            "import './gone.js';\nexport const b = 1;",
            "lib/b.js",
            1,
            "`lib/gone.js` cannot be read",
        ),
        (main, "\nimport lodash from 'lodash';", "lib/b.js", 2, "`./node_modules/lodash/FILE.js`"),
        (main, "import '../../b.js';", "lib/b.js", 1, "outside of the scenario's folder"),
        (
            main,
            "let count = 0;\nexport const b = () => 1;",
            "lib/b.js",
            1,
            "`count` can be assigned",
        ),
        (main, "export let b = 1;", "lib/b.js", 1, "`b` can be assigned"),
        (main, "export const b = 10n;", "lib/b.js", 1, "BigInt"),
        ("import k6 from 'k6/http';", "", "main.js", 1, "is no path of a file"),
    ] {
        let read = [("lib/b.js", other)];
        let fault = load_modules(&[file("main.js", main)], &read).unwrap_err();
        assert_eq!(fault.file.as_deref(), Some(file_name), "{other}: {fault:?}");
        assert_eq!(fault.place.map(|(line, _)| line), Some(line), "{other}: {fault:?}");
        assert!(fault.message.contains(said), "{other}: {fault:?}");
    }
    for (main, other, said) in [
        (main, "export const c = 1;", "b"),
        ("export const Math = 1;", "", "`Math` is exported, and there is something of that name"),
        ("export const a = await 1;", "", "await"),
    ] {
        let fault = load_modules(&[file("main.js", main)], &[("lib/b.js", other)]).unwrap_err();
        assert!(fault.message.contains(said), "{main}: {fault:?}");
    }
    let many: Vec<(String, String)> =
        (0..100).map(|at| (format!("m{at}.js"), format!("import './m{}.js';", at + 1))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (&**name, &**text)).collect();
    let fault = load_modules(&[file("main.js", "import './m0.js';")], &many).unwrap_err();
    assert!(fault.message.contains("more than 64 modules"), "{fault:?}");
}

/// Whatever a call does to what a module declares, the next one finds as it was.
#[test]
fn modules_keep_nothing() {
    let other = "export const list = [1];\nexport const map = new Map();\nexport class Kind {}\n\
                 export function size() { return list.length; }\nconst own = { n: 1 };\n\
                 export const grow = () => { own.n += 1; return own.n; };\n\
                 export const replace = () => { size = () => 99; return size(); };\n\
                 export const bytes = new Uint8Array(1);";
    let main = "import * as all from './other.js';\nimport { list, map, Kind, size, grow, replace, bytes } from './other.js';\n\
                export const push = () => list.push(2);\nexport const put = () => map.set(1, 2);\n\
                export const leak = () => { Kind.leak = 1; return 1; };\nexport const own = () => grow();\n\
                export const swap = () => replace();\nexport const count = () => size();\n\
                export const next = () => { bytes[0] += 1; return bytes[0]; };\n\
                export const through = () => all.size();\nexport const sly = () => eval('1');";
    let mut context = load_modules(&[file("main.js", main)], &[("other.js", other)]).unwrap();
    for name in ["push", "put", "leak", "own", "sly"] {
        assert!(call(&mut context, name, &[]).is_err(), "{name}");
    }
    for _ in 0..2 {
        assert_eq!(call(&mut context, "swap", &[]), Ok(Value::Int(99)));
        assert_eq!(call(&mut context, "count", &[]), Ok(Value::Int(1)));
        assert_eq!(call(&mut context, "through", &[]), Ok(Value::Int(1)));
        assert_eq!(call(&mut context, "next", &[]), Ok(Value::Int(1)));
    }
}

/// A name of something built in may be a module's own.
#[test]
fn modules_may_have_names_of_what_is_built_in() {
    let main = "const Map = { size: 3 };\nfunction escape(x) { return '<' + x + '>'; }\n\
                export const f = (x) => escape(x) + Map.size + typeof globalThis.Map + Object.keys({a: 1}).length;";
    let mut context = load_modules(&[file("main.js", main)], &[]).unwrap();
    assert_eq!(call(&mut context, "f", &[Value::text("a")]), Ok(Value::text("<a>3function1")));
    let fault =
        load_modules(&[file("main.js", "let Math = 1;\nexport const f = () => Math++;")], &[]);
    assert!(fault.unwrap_err().message.contains("`Math` can be assigned"));
}

#[test]
fn a_step_sets_what_it_returns_or_assigns() {
    let seven = || Value::Int(7);
    assert_eq!(run("return { c: twice(vars.a) };", &["c"]), Ok(vec![Value::Int(14)]));
    assert_eq!(run("vars.c = vars.a; // end", &["c"]), Ok(vec![seven()]));
    assert_eq!(run("vars.b += vars.a;", &["b"]), Ok(vec![Value::text("x7")]));
    // What is not returned stays as it was.
    assert_eq!(run("return { c: 1 };", &["b", "c"]), Ok(vec![Value::text("x"), Value::Int(1)]));
    assert_eq!(run("return { c: [vars.a] };", &["c"]), Ok(vec![Value::text("[7]")]));
    assert_eq!(run("", &[]), Ok(Vec::new()));
    assert_eq!(
        run("return { ...vars, c: Object.keys(vars).join() };", &["a", "b", "c"]),
        Ok(vec![seven(), Value::text("x"), Value::text("a,b,c")])
    );
}

#[test]
fn an_assignment_that_would_be_lost_is_an_error() {
    for (text, said) in [
        ("vars.a = 1;", "TypeError"),
        ("vars.z = 1;", "TypeError"),
        ("return { z: 1 };", "returned `z`, which `sets` does not name"),
        ("return 5;", "returns an object, or nothing"),
        ("return [5];", "returns an object, or nothing"),
        ("\n\nnull.x;", ", at scenario:22:"),
        ("while (true) {}", "it took longer than"),
    ] {
        let found = run(text, &["c"]).unwrap_err();
        assert!(found.starts_with("`js`: ") && found.contains(said), "{text}: {found}");
    }
}

#[test]
fn faults_of_a_step_have_the_lines_of_the_scenario() {
    let mut context = load("");
    let fault = context.step(&step("const a = 1;\nretrun a;", &[], &[])).unwrap_err();
    assert_eq!(fault.place.map(|(line, _)| line), Some(21), "{fault:?}");
    let fault = context.step(&step("}); (function () {", &[], &[])).unwrap_err();
    assert!(fault.message.contains("closing brace"), "{fault:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_panics(text in r#"([a-z]{1,3}|[0-9]{1,2}|[-+*/=<>!&|?:;,.(){}\[\]"'` \n]|function |return |const |let |=> |new |class |async |await |yield |\$\{|/a/g|\u{e9}|\x00){0,40}"#) {
        if let Ok(mut context) = Context::load(&[file("any.js", &text)], &[], LIMITS) {
            for name in context.function_names() {
                let _ = call(&mut context, &name, &[Value::Nothing]);
            }
        }
        if let Ok(mut context) = Context::load(&[], &[], LIMITS) {
            let _ = context.step(&step(&text, &["a"], &["b"]));
        }
    }
}
