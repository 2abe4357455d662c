use serde_json::Value;
use stats::clique::{Graph, maximal_cliques};

use crate::golden::{cases, numbers};

fn whole(value: &Value) -> Vec<usize> {
    numbers(value).iter().map(|&x| x as usize).collect()
}

#[test]
fn maximal_cliques_agree_with_networkx() {
    for case in cases("cliques") {
        let mut graph = Graph::new(case["nodes"].as_u64().unwrap() as usize);
        for edge in case["edges"].as_array().unwrap() {
            let edge = whole(edge);
            graph.join(edge[0], edge[1]);
            assert!(graph.joined(edge[1], edge[0]));
        }
        let found = maximal_cliques(&graph, 100_000);
        assert!(found.complete);
        let expected: Vec<_> = case["cliques"].as_array().unwrap().iter().map(whole).collect();
        assert_eq!(found.cliques, expected);
    }
}

#[test]
fn too_many_cliques_are_truncated_and_reported() {
    // Moon and Moser: 3^33 cliques.
    let mut graph = Graph::new(99);
    for a in 0..99 {
        for b in 0..99 {
            if a / 3 != b / 3 {
                graph.join(a, b);
            }
        }
    }
    let found = maximal_cliques(&graph, 1000);
    assert_eq!((found.cliques.len(), found.complete), (1000, false));
    assert!(found.cliques.iter().all(|clique| clique.len() == 33));
    assert_eq!(maximal_cliques(&Graph::new(0), 10).cliques.len(), 0);
}
