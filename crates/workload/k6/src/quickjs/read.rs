//! A script evaluated once, as k6 does before a test: for its options, and for what it reads.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use machine::clock::thread_cpu_ns;
use plan::{K6File, K6Script};
use rquickjs::{Object, Value};

use super::host::{MetricDeclared, Shared, State};
use super::memory::Unlimited;
use super::modules::{Missing, Modules, texts};
use super::user::{context, load, thrown};
use crate::exchange::{Fault, Memory};
use crate::scenario::{Declared, MetricKind, Script};

/// Most files that a script imports and opens.
const FILES_MAX: usize = 500;
/// Most bytes of all of them.
const BYTES_MAX: usize = 32 << 20;

/// CPU time of all evaluations, after which no further one begins.
const CPU_NS_MAX: u64 = 30_000_000_000;

/// What one evaluation has found.
struct Found {
    script: Result<Script, Fault>,
    missing: Vec<Missing>,
    wanted: Vec<String>,
}

/// Evaluates the script of this name. `files` gives the bytes of a file in the script's folder, or says why there are none.
///
/// # Errors
/// If the script cannot be read, or throws; if it imports what is not there, or what k6 has and this has not.
pub fn read(
    name: &str,
    env: &[(String, String)],
    files: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Script, Fault> {
    let cannot = |file: &str, reason: &str| Fault::new(format!("cannot read {file:?}: {reason}"));
    let bytes = files(name).map_err(|reason| cannot(name, &reason))?;
    if name.ends_with(".ts") {
        return Err(Fault::new(
            "TypeScript is not supported here: compile the script to JavaScript",
        ));
    }
    let mut known = vec![K6File { name: name.to_owned(), bytes: bytes.into() }];
    let mut absent: BTreeSet<String> = BTreeSet::new();
    let began_ns = thread_cpu_ns();
    loop {
        let Found { script, missing, wanted } = evaluate(&known, env);
        let count = known.len();
        for import in &missing {
            if known.iter().any(|file| file.name == import.file) {
                continue;
            }
            let bytes = files(&import.file).map_err(|reason| {
                import.fault(&known, format!("cannot read `{}`: {reason}", import.file))
            })?;
            known.push(K6File { name: import.file.clone(), bytes: bytes.into() });
        }
        for file in wanted {
            if absent.contains(&file) || known.iter().any(|known| known.name == file) {
                continue;
            }
            match files(&file) {
                Ok(bytes) => known.push(K6File { name: file, bytes: bytes.into() }),
                // A script may catch what it throws.
                Err(_) => {
                    absent.insert(file);
                }
            }
        }
        if known.len() == count {
            return script.map(|script| Script { files: known, ..script });
        }
        if thread_cpu_ns().saturating_sub(began_ns) > CPU_NS_MAX {
            let most = units::duration(CPU_NS_MAX as f64);
            return Err(Fault::new(format!(
                "its top level takes too long: it is evaluated again for each file that it opens, which may take {most}"
            )));
        }
        let bytes: usize = known.iter().map(|file| file.bytes.len()).sum();
        if known.len() > FILES_MAX || bytes > BYTES_MAX {
            return Err(Fault::new(format!(
                "the script imports and opens more than {FILES_MAX} files, or {} MiB",
                BYTES_MAX >> 20
            )));
        }
    }
}

impl Missing {
    /// What is wrong with it, at its place in the file that has it.
    fn fault(&self, files: &[K6File], message: String) -> Fault {
        let file = files.iter().find(|file| file.name == self.base);
        let text = file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
        let place = text.and_then(|text| {
            let quoted = ['"', '\''].map(|quote| format!("{quote}{}{quote}", self.written));
            let at = quoted.iter().find_map(|quoted| text.find(quoted.as_str()))?;
            let line = text[..at].matches('\n').count() + 1;
            let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
            Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
        });
        let file = file.map(|file| file.name.clone());
        Fault { message, file, place, ..Fault::default() }
    }
}

/// Evaluates the first of these files once.
fn evaluate(files: &[K6File], env: &[(String, String)]) -> Found {
    let script = Arc::new(K6Script {
        files: files.to_vec(),
        env: env.to_vec(),
        options: String::new(),
        metrics: Vec::new(),
        time_max_ns: crate::TIME_NS_MAX,
        memory_bytes_max: crate::MEMORY_BYTES_MAX,
    });
    let texts = texts(files);
    let memory: Arc<dyn Memory> = Arc::new(Unlimited);
    let shared = Rc::new(Shared::new(&memory));
    let state = Rc::new(State::new(&script, &Rc::default(), &shared, &texts, 0));
    let modules = Modules::new(&state);
    let script = context(&state, &modules).and_then(|context| {
        context.1.with(|ctx| {
            let exports = load(&ctx, &state)?;
            exported(&exports, &state).map_err(|error| thrown(&ctx, error, &state))
        })
    });
    let refused = modules.refused.take();
    let script = match refused {
        Some((import, message)) if script.is_err() => Err(import.fault(files, message)),
        _ => script,
    };
    let missing = modules.missing.take();
    let wanted = state.wanted.take();
    Found { script, missing, wanted }
}

fn exported(exports: &Object<'_>, state: &State) -> rquickjs::Result<Script> {
    let ctx = exports.ctx();
    let mut functions = Vec::new();
    for name in exports.keys::<String>() {
        let name = name?;
        let value: Value<'_> = exports.get(name.as_str())?;
        if value.is_function() {
            functions.push(name);
        }
    }
    let options: Value<'_> = exports.get("options")?;
    let options = match options.is_undefined() {
        true => None,
        false => ctx.json_stringify(options)?,
    };
    let options = options.map_or_else(|| Ok("{}".to_owned()), |json| json.to_string())?;
    let metrics = state.metrics.borrow();
    Ok(Script {
        files: Vec::new(),
        functions,
        options: serde_json::from_str(&options).unwrap_or_default(),
        metrics: metrics.iter().map(declared).collect(),
    })
}

fn declared(metric: &MetricDeclared) -> Declared {
    Declared {
        name: metric.name.clone(),
        kind: match metric.kind.as_str() {
            "counter" => MetricKind::Counter,
            "gauge" => MetricKind::Gauge,
            "rate" => MetricKind::Rate,
            _ => MetricKind::Trend,
        },
        is_time: metric.is_time,
    }
}
