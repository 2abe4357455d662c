//! `throng model RUN`: the targets of a run's measures, as far as its scenario has them.

use std::collections::BTreeMap;
use std::path::Path;

use model::Target;
use plan::Op;
use plan::Plan;
use record::Run;

use super::SCENARIO;
use crate::source;

/// The known targets of each measure. A scenario that does not compile here, for want of files or environment
/// variables, has none; nor has a path with expressions.
pub(super) fn run_targets(directory: &Path) -> BTreeMap<String, Vec<Target>> {
    let Ok(run) = Run::open(directory) else {
        // Reading the run reports what is wrong with it.
        return BTreeMap::new();
    };
    let sets: Vec<(String, String)> = run
        .info()
        .overrides
        .iter()
        .filter_map(|set| set.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let path = directory.join(SCENARIO).display().to_string();
    let plan = source::read_named(&path)
        .ok()
        .and_then(|text| source::try_compile(&text, &sets).0)
        .map(|compiled| compiled.plan);
    plan.map(|plan| plan_targets(&plan)).unwrap_or_default()
}

fn plan_targets(plan: &Plan) -> BTreeMap<String, Vec<Target>> {
    let mut targets: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    let recorded = plan.recorded();
    let ops = plan.sessions.iter().flat_map(|session| &session.ops);
    let requests = ops.filter_map(|op| match op {
        Op::Http(op) => Some((op.measure, op.method.as_str(), &op.path)),
        Op::Poll(op) => Some((op.measure, "GET", &op.path)),
        _ => None,
    });
    for (measure, method, path) in requests {
        let Some(path) = path.as_static().filter(|path| path.starts_with('/')) else {
            continue;
        };
        let target = Target { method: method.to_owned(), target: path.to_owned(), weight: 1 };
        for measure in recorded.all_of(measure) {
            let name = &recorded.measures[measure.index()].name;
            let known = targets.entry(name.clone()).or_default();
            if !known.contains(&target) {
                known.push(target.clone());
            }
        }
    }
    targets
}
