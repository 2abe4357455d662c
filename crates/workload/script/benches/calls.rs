//! What calls of scripts cost, beside the same work by the scenario's own expressions.

use std::hint::black_box;

use divan::Bencher;
use plan::expr::{Binary, Func, Pure, Value, eval};
use plan::{Script, ScriptFile, ScriptStep};
use script::{Context, Surroundings};
use stats::rng::{Purpose, Rng};

const TEXT: &str = "
function nothing() { return 0; }
function join(a, b) { return a + '-' + b; }
function total(items) { return JSON.parse(items).reduce((sum, item) => sum + item.price, 0); }
";
const ITEMS: &str =
    r#"[{"id":1,"price":2.5},{"id":2,"price":3},{"id":3,"price":4.25},{"id":4,"price":1}]"#;

fn main() {
    divan::main();
}

fn context() -> Context {
    let step = ScriptStep {
        text: "return { c: vars.a + 1 }".into(),
        file: None,
        line: 1,
        inputs: vec!["a".to_owned(), "b".to_owned()],
        outputs: vec!["c".to_owned()],
    };
    let script = Script {
        files: vec![ScriptFile { name: "bench.js".to_owned(), text: TEXT.into() }],
        imports: Vec::new(),
        declared: ["join", "nothing", "total"].map(str::to_owned).to_vec(),
        functions: ["nothing", "join", "total"].map(str::to_owned).to_vec(),
        steps: vec![step],
        time_max_ns: 10_000_000,
        memory_bytes_max: 32 << 20,
    };
    Context::new(&script).expect("the script is right")
}

fn call(bencher: Bencher<'_, '_>, function: usize, arguments: &[Value]) {
    let mut context = context();
    let mut rng = Rng::new(1, 1, Purpose::Value);
    bencher.bench_local(|| {
        let mut around = Surroundings { now_ms: 0, rng: &mut rng };
        context.call(function, black_box(arguments), &mut around)
    });
}

#[divan::bench]
fn function_without_arguments(bencher: Bencher<'_, '_>) {
    call(bencher, 0, &[]);
}

#[divan::bench]
fn function_of_two_texts(bencher: Bencher<'_, '_>) {
    call(bencher, 1, &[Value::text("order"), Value::Int(7)]);
}

#[divan::bench]
fn function_of_a_list(bencher: Bencher<'_, '_>) {
    call(bencher, 2, &[Value::text(ITEMS)]);
}

#[divan::bench]
fn step_of_two_variables(bencher: Bencher<'_, '_>) {
    let mut context = context();
    let mut rng = Rng::new(1, 1, Purpose::Value);
    let inputs = [Value::Int(7), Value::text("b")];
    bencher.bench_local(|| {
        let mut around = Surroundings { now_ms: 0, rng: &mut rng };
        context.run(0, black_box(&inputs), &mut around)
    });
}

/// `a + '-' + b`, as an expression.
#[divan::bench]
fn expression_of_two_texts(bencher: Bencher<'_, '_>) {
    let a = Value::text("order");
    let b = Value::Int(7);
    bencher.bench_local(|| {
        let left = eval::binary(Binary::Add, black_box(&a), &Value::text("-"))?;
        eval::binary(Binary::Add, &left, black_box(&b))
    });
}

/// `upper(a)`, the cheapest call.
#[divan::bench]
fn expression_with_a_call(bencher: Bencher<'_, '_>) {
    let arguments = [Value::text("order")];
    bencher.bench_local(|| eval::fold_call(Func::Pure(Pure::Upper), black_box(&arguments)));
}

#[divan::bench]
fn loading_a_context(bencher: Bencher<'_, '_>) {
    bencher.bench_local(context);
}
