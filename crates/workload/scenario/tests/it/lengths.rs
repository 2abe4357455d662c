//! How long sessions take, without what the target takes.

use crate::{plan, with_steps};

/// The mean length in seconds of a session of these steps.
#[track_caller]
fn seconds(steps: &str) -> f64 {
    plan(&with_steps(steps)).sessions[0].length_mean_ns() / 1e9
}

#[test]
fn pauses_add_up() {
    assert_eq!(seconds("\n- get: /\n- think: 8s\n- get: /b\n- think: 1s..3s\n"), 10.0);
}

#[test]
fn loops_count_as_often_as_they_are_done() {
    let rounds = "\n- loop: 30\n  steps:\n    - get: /\n    - think: 1s\n";
    assert_eq!(seconds(rounds), 30.0);
    let nested = "\n- loop: 3\n  steps:\n    - loop: 4\n      steps:\n        - think: 2s\n    - think: 1s\n";
    assert_eq!(seconds(nested), 27.0);
    // What is drawn is drawn: 1 to 5 rounds, 3 on average.
    let drawn = seconds("\n- loop: random(1, 5)\n  steps:\n    - think: 1s\n");
    assert!((drawn - 3.0).abs() < 0.3, "{drawn}");
    // Nobody knows how long somebody stays who never leaves.
    assert_eq!(seconds("\n- think: 2s\n- forever:\n    - get: /\n    - think: 5s\n"), 7.0);
}

#[test]
fn paces_last_as_long_as_their_rounds() {
    // The first step is due at once, the last one after 59 intervals.
    assert_eq!(seconds("\n- loop: 60\n  steps:\n    - pace: 500ms\n    - get: /\n"), 29.5);
    // A pause within the interval takes no time of its own.
    assert_eq!(
        seconds("\n- loop: 11\n  steps:\n    - pace: 2s\n    - get: /\n    - think: 1s\n"),
        21.0
    );
}

#[test]
fn choices_count_by_their_shares() {
    let chosen = seconds(
        "\n- choose:\n    - { weight: 9, steps: [ { think: 1s } ] }\n    - { weight: 1, steps: [ { think: 101s } ] }\n",
    );
    assert!((chosen - 11.0).abs() < 4.5, "{chosen}");
}
