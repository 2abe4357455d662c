//! Maximal cliques of a small graph: sets of nodes that are all joined, to which no node can be added.

/// Nodes, numbered from 0, and the edges between them.
#[derive(Debug, Clone)]
pub struct Graph {
    neighbours: Vec<Set>,
}

impl Graph {
    /// A graph with this number of nodes and no edge.
    pub fn new(nodes: usize) -> Graph {
        Graph { neighbours: vec![Set::empty(nodes); nodes] }
    }

    /// Joins two nodes. A node is never joined to itself.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn join(&mut self, a: usize, b: usize) {
        let nodes = self.neighbours.len();
        assert!(a < nodes && b < nodes, "{a} and {b} of {nodes} nodes");
        if a != b {
            self.neighbours[a].add(b);
            self.neighbours[b].add(a);
        }
    }

    /// Whether the two nodes are joined.
    pub fn joined(&self, a: usize, b: usize) -> bool {
        self.neighbours[a].has(b)
    }
}

/// The maximal cliques that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cliques {
    /// Each with its nodes rising; the largest first, those of one size by their nodes. A node
    /// without neighbours is a clique of its own.
    pub cliques: Vec<Vec<usize>>,
    /// Whether these are all. A graph of n nodes can have 3^(n/3) (Moon and Moser 1965).
    pub complete: bool,
}

/// A graph that branches more often than this is given up: a second or two.
const BRANCHES_MAX: u64 = 10_000_000;

/// The maximal cliques, at most `cliques_max` of them: Bron and Kerbosch, "Algorithm 457" (1973),
/// with the pivot of Tomita, Tanaka and Takahashi, "The worst-case time complexity for generating
/// all maximal cliques" (2006).
pub fn maximal_cliques(graph: &Graph, cliques_max: usize) -> Cliques {
    let nodes = graph.neighbours.len();
    let mut all = Set::empty(nodes);
    (0..nodes).for_each(|node| all.add(node));
    let mut search = Search {
        graph,
        cliques_max,
        branches: 0,
        complete: true,
        cliques: Vec::new(),
        chosen: Vec::new(),
    };
    if nodes > 0 {
        search.extend(all, Set::empty(nodes));
    }
    let mut cliques = search.cliques;
    let complete = search.complete;
    cliques.iter_mut().for_each(|clique| clique.sort_unstable());
    cliques.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    Cliques { cliques, complete }
}

struct Search<'a> {
    graph: &'a Graph,
    cliques_max: usize,
    branches: u64,
    complete: bool,
    cliques: Vec<Vec<usize>>,
    /// The clique that is being extended.
    chosen: Vec<usize>,
}

impl Search<'_> {
    /// Finds the maximal cliques that hold all of `chosen`, some of `candidates`, which are joined
    /// to all of these, and none of `excluded`, which are so as well but have been tried.
    fn extend(&mut self, mut candidates: Set, mut excluded: Set) {
        self.branches += 1;
        if self.branches > BRANCHES_MAX {
            self.complete = false;
            return;
        }
        let either = candidates.iter().chain(excluded.iter());
        // Every clique here holds the pivot, or a node that is not joined to it.
        let Some(pivot) =
            either.max_by_key(|&node| self.graph.neighbours[node].shared(&candidates))
        else {
            if self.cliques.len() < self.cliques_max {
                self.cliques.push(self.chosen.clone());
            } else {
                self.complete = false;
            }
            return;
        };
        let branches: Vec<usize> =
            candidates.without(&self.graph.neighbours[pivot]).iter().collect();
        for node in branches {
            if !self.complete {
                return;
            }
            let neighbours = &self.graph.neighbours[node];
            self.chosen.push(node);
            self.extend(candidates.within(neighbours), excluded.within(neighbours));
            self.chosen.pop();
            candidates.remove(node);
            excluded.add(node);
        }
    }
}

/// A set of nodes, a bit each.
#[derive(Debug, Clone)]
struct Set {
    words: Vec<u64>,
}

impl Set {
    fn empty(nodes: usize) -> Set {
        Set { words: vec![0; nodes.div_ceil(64)] }
    }

    fn add(&mut self, node: usize) {
        self.words[node / 64] |= 1 << (node % 64);
    }

    fn remove(&mut self, node: usize) {
        self.words[node / 64] &= !(1 << (node % 64));
    }

    fn has(&self, node: usize) -> bool {
        self.words[node / 64] >> (node % 64) & 1 == 1
    }

    fn zipped(&self, other: &Set, word: impl Fn(u64, u64) -> u64) -> Set {
        let words = self.words.iter().zip(&other.words);
        Set { words: words.map(|(&a, &b)| word(a, b)).collect() }
    }

    fn within(&self, other: &Set) -> Set {
        self.zipped(other, |a, b| a & b)
    }

    fn without(&self, other: &Set) -> Set {
        self.zipped(other, |a, b| a & !b)
    }

    fn shared(&self, other: &Set) -> u32 {
        let words = self.words.iter().zip(&other.words);
        words.map(|(a, b)| (a & b).count_ones()).sum()
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let bits =
                std::iter::successors(Some(word), |&word| Some(word & (word.wrapping_sub(1))));
            let bits = bits.take_while(|&word| word != 0);
            bits.map(move |word| i * 64 + word.trailing_zeros() as usize)
        })
    }
}
