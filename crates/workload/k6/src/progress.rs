//! How far a scenario has come, as `exec.scenario.progress` says it.

use serde_json::Value;

use crate::options::duration_ns;

/// From 0 to 1. `elapsed_ms`: since the run's start; `ended`: iterations of the user; `number`: of the iteration in the run, from
/// 0.
pub(crate) fn progress(scenario: &Value, elapsed_ms: f64, ended: u64, number: u64) -> f64 {
    let count = scenario["iterations"].as_f64().unwrap_or(1.0);
    let part = match scenario["executor"].as_str().unwrap_or_default() {
        "shared-iterations" => number as f64 / count,
        "per-vu-iterations" => ended as f64 / count,
        _ => {
            let stages = scenario["stages"].as_array().into_iter().flatten();
            let staged: f64 = stages.map(|stage| milliseconds(&stage["duration"])).sum();
            let whole = milliseconds(&scenario["duration"]) + staged;
            (elapsed_ms - milliseconds(&scenario["startTime"])) / whole
        }
    };
    // There is none where nothing is to be done.
    if part.is_nan() { 1.0 } else { part.clamp(0.0, 1.0) }
}

fn milliseconds(value: &Value) -> f64 {
    let text = value.as_str().and_then(duration_ns).map(|ns| ns as f64 / 1e6);
    text.or(value.as_f64()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_and_iterations_are_parts_of_the_whole() {
        let constant = json!({ "executor": "constant-vus", "duration": "10s", "startTime": "5s" });
        assert_eq!(progress(&constant, 7_500.0, 9, 9), 0.25);
        assert_eq!(progress(&constant, 60_000.0, 9, 9), 1.0);
        let stages = json!([{ "duration": "2s", "target": 1 }, { "duration": 2000, "target": 2 }]);
        let ramping = json!({ "executor": "ramping-vus", "stages": stages });
        assert_eq!(progress(&ramping, 1_000.0, 0, 0), 0.25);
        let shared = json!({ "executor": "shared-iterations", "iterations": 8 });
        assert_eq!(progress(&shared, 0.0, 1, 4), 0.5);
        let each = json!({ "executor": "per-vu-iterations", "iterations": 4 });
        assert_eq!(progress(&each, 0.0, 3, 100), 0.75);
        assert_eq!(progress(&json!({ "executor": "constant-vus" }), 0.0, 0, 0), 1.0);
    }
}
