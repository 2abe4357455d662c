//! A selector, ready to be compared with elements.

/// A list of selectors (Selectors Level 4), as far as [`Selector::parse`](Selector::parse) documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// As written.
    pub(crate) text: String,
    /// The parts of all selectors of the list, one behind the other; at most 64.
    pub(crate) parts: Vec<CompoundStep>,
    /// A bit for each part that is the last one of its selector.
    pub(crate) last: u64,
}

impl Selector {
    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many tests an element may have to pass.
    pub(crate) fn tests_count(&self) -> usize {
        self.parts.iter().map(|part| part.compound.tests_count()).sum()
    }
}

/// A compound selector and its relation to the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompoundStep {
    pub(crate) relation: Relation,
    pub(crate) compound: Compound,
}

/// How an element stands to that of the part before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// There is no part before.
    First,
    /// It is somewhere inside of it: a space.
    Inside,
    /// It is its child: `>`.
    Child,
    /// It follows it at once: `+`.
    Next,
    /// It follows it: `~`.
    Later,
}

/// Tests that an element must all pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Compound {
    pub(crate) tests: Vec<Test>,
}

impl Compound {
    /// All tests, those that an element must not pass included; 1 at least.
    fn tests_count(&self) -> usize {
        let count = |test: &Test| match test {
            Test::Not(compounds) => compounds.iter().map(Compound::tests_count).sum(),
            _ => 1,
        };
        self.tests.iter().map(count).sum::<usize>().max(1)
    }
}

/// A test of one element. Names of elements and attributes are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    /// The name of the element.
    Name(String),
    Id(String),
    Class(String),
    Attribute {
        name: String,
        holds: Holds,
        /// It is compared in lower case, in which the text to compare it with already is.
        any_case: bool,
    },
    /// The place among the elements of the parent, from 1, is a·n + b for a whole n from 0.
    Place {
        a: i32,
        b: i32,
    },
    /// No element follows it in its parent.
    LastChild,
    /// It has neither elements nor text.
    Empty,
    /// It is the `html` element.
    Root,
    /// It passes none of these.
    Not(Vec<Compound>),
}

/// The condition on the value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holds {
    Anything,
    /// `=`
    Equal(String),
    /// `~=`: one of its words.
    Word(String),
    /// `|=`: this, or this and a hyphen at its beginning.
    Dash(String),
    /// `^=`
    Begin(String),
    /// `$=`
    End(String),
    /// `*=`
    Part(String),
}
