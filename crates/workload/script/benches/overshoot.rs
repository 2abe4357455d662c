//! How far calls of scripts go beyond their time: each built-in function and each operator whose work grows with what it is
//! given, again and again until the call ends, with values of every size that the memory takes.
//!
//! `cargo bench -p script --bench overshoot` prints the longest of each, in milliseconds; the last line is the longest of the
//! built-in functions, of which `docs/scripts.md` promises 5 ms.
#![expect(clippy::print_stdout, reason = "it prints what it has measured")]

use machine::clock::thread_cpu_ns;
use plan::ScriptFile;
use plan::expr::Value;
use script::{Context, Limits, Surroundings};
use stats::rng::{Purpose, Rng};

const LIMITS: Limits = Limits { time_max_ns: 10_000_000, memory_bytes_max: 32 << 20 };
/// Items of lists, keys of objects, characters of texts; what does not fit into the memory is left out.
const SIZES: &[usize] = &[100, 1_000, 5_000, 20_000, 50_000, 100_000, 200_000, 400_000, 1_000_000];

const BUILT_IN: &str = include_str!("../src/quickjs/built_in.txt");
const OPERATORS: &str = include_str!("../src/quickjs/operators.txt");

/// The longest time beyond its limit of a call that does nothing but this, nanoseconds, and the size of its values.
fn worst(body: &str) -> (u64, usize) {
    let mut worst = (0, 0);
    for &size in SIZES {
        let text = format!(
            "const list = Array.from({{ length: {size} }}, (_, i) => i % 7);
             const text = 'a,'.repeat({size} / 2);
             const same = 'a,'.repeat({size} / 2);
             const double = (text, times) => times === 0 ? text : double(text + text, times - 1);
             const doubled = double(text, 4);
             const redoubled = double(same, 4);
             const digits = '1'.repeat({size});
             const bytes = new Uint8Array(Math.min({size}, 65536));
             const object = Object.fromEntries(list.map((x, i) => ['k' + i, x]));
             const json = JSON.stringify(list);
             const map = new Map(list.map((x, i) => [i, x]));
             const set = new Set(map.keys());
             function f() {{ for (;;) {{ {body}; }} }}"
        );
        let file = ScriptFile { name: "script.js".to_owned(), text: text.into() };
        let Ok(mut context) = Context::load(&[file], &[], LIMITS) else {
            continue;
        };
        let function = context.function("f").expect("the text declares it");
        let mut rng = Rng::new(1, 1, Purpose::Value);
        let mut around = Surroundings { now_ms: 0, rng: &mut rng };
        let since_ns = thread_cpu_ns();
        let ended: Result<Value, _> = context.call(function, &[], &mut around);
        let used_ns = thread_cpu_ns() - since_ns;
        assert!(ended.is_err(), "{body} ended");
        worst = worst.max((used_ns.saturating_sub(LIMITS.time_max_ns), size));
    }
    worst
}

fn print(bodies: &str) -> u64 {
    let mut longest = 0;
    for body in bodies.lines() {
        let (beyond_ns, size) = worst(body);
        println!("{:8.2}  {size:9}  {body}", beyond_ns as f64 / 1e6);
        longest = longest.max(beyond_ns);
    }
    longest
}

fn main() {
    println!("ms beyond      size  operators");
    let operators = print(OPERATORS);
    println!("ms beyond      size  built-in functions");
    let built_in = print(BUILT_IN);
    println!("{:8.2}  the longest of the operators", operators as f64 / 1e6);
    println!("{:8.2}  the longest of the built-in functions", built_in as f64 / 1e6);
}
