use proptest::prelude::*;

use super::*;
use crate::document::render;

fn read(text: &str) -> (Option<Meters>, String) {
    let source = Source { name: "meters.yaml", text };
    let (found, diagnostics) = meters(source);
    (found, render(&diagnostics, source))
}

#[test]
fn a_meter_is_read_whole() {
    let text = "reference: first
window: 94m
hosts: { first: [api, store] }
meters:
  SPM:
    scale: 0.5
    inputs:
      - { name: request, figure: mean(request), worst: p98(request), unit: ms, invert: true, weight: 2 }
      - { probe: { NetworkIn: 1, Received: 60 }, per: Total, better: lower }
      - { value: { first: 3, second: 4 } }
  SEC:
    inputs: [ { meter: SPM }, { cost: hours-per-dollar }, { value: 7 } ]
";
    let (found, diagnostics) = read(text);
    assert_eq!(diagnostics, "");
    let found = found.unwrap();
    assert_eq!((found.reference.as_deref(), found.window_s), (Some("first"), Some(5640.0)));
    assert_eq!(found.hosts_of("first"), ["api", "store"]);
    assert_eq!(found.hosts_of("second"), [] as [String; 0]);
    let spm = &found.meters[0];
    assert_eq!((spm.scale, spm.each_moment, spm.inputs.len()), (0.5, false, 3));
    assert_eq!(
        spm.inputs[0],
        Input {
            name: "request".to_owned(),
            from: From::Figure {
                mean: "mean(request)".to_owned(),
                worst: Some("p98(request)".to_owned()),
                best: None,
            },
            unit: Some("ms".to_owned()),
            scale: 1.0,
            invert: true,
            lower_is_better: true,
            weight: 2.0,
        }
    );
    assert_eq!(
        spm.inputs[1].from,
        From::Probe {
            metrics: vec![("NetworkIn".to_owned(), 1.0), ("Received".to_owned(), 60.0)],
            per: Some("Total".to_owned()),
            weigh: Vec::new(),
        }
    );
    assert!(spm.inputs[1].lower_is_better);
    let sec = &found.meters[1].inputs;
    assert_eq!(sec[0].from, From::Meter("SPM".to_owned()));
    assert_eq!(sec[1].from, From::HoursPerMoney);
    assert_eq!(sec[2].from, From::Value(vec![(String::new(), 7.0)]));
}

#[test]
fn all_faults_are_reported_at_once() {
    let text = "meters:
  A:
    states: minutes
    inputs:
      - { figure: users, probe: cpu }
      - { figur: users }
  B:
    states: moments
    inputs:
      - { meter: C }
      - { figure: users }
      - { probe: cpu, weight: -1, invert: maybe, scale: NaN }
";
    let (found, diagnostics) = read(text);
    assert_eq!(found, None);
    for expected in [
        "3:13: error: `minutes` is not known here",
        "4:13: error: the meter `A` has fewer than 3 inputs",
        "5:9: error: an input needs exactly one source",
        "6:11: error: unknown key `figur` in an input",
        "10:18: error: there is no meter `C` before this one",
        "11:19: error: `states: moments` allows only probes",
        "12:31: error: a weight is 0 or more",
        "12:43: error: `maybe` is not known here",
        "12:57: error: `NaN` is not a factor",
    ] {
        let line = expected.split(':').next().unwrap();
        assert!(
            diagnostics.contains(&expected[expected.find(" error").unwrap()..]),
            "line {line}: {expected} not in\n{diagnostics}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(meters:\n  A:\n    inputs:\n)?\\PC{0,80}") {
        let _ = read(&text);
    }
}
