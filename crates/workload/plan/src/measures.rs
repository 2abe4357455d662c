//! Measures: what is timed or counted under a name.

use std::collections::BTreeMap;

use serde::Serialize;

/// Keys and their values.
pub type Tags = BTreeMap<String, String>;

/// The key of the tag that a group gives its steps. Its value is the group's name, behind those of the groups around it.
pub const GROUP: &str = "group";

/// Between the names of a group and of one in it.
pub const GROUP_SEPARATOR: char = '/';

/// Tag of a measure that differs from others of its name by having none of their tags.
const OTHER: &str = "other";

/// Something that is measured or counted under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// Unique.
    pub name: String,
    pub kind: MeasureKind,
    /// The tags by which its figures are added up.
    pub tags: Tags,
    /// The name that it shares with others whose tags differ; `None`: it is the only one of its name.
    pub shared_name: Option<String>,
}

/// All tags of a measure that was given these: a step of an inner group belongs to the outer ones as well, which come
/// first.
pub fn all_tags(tags: &Tags) -> impl Iterator<Item = (&str, &str)> {
    tags.iter().flat_map(|(key, value)| {
        let outer = value.match_indices(GROUP_SEPARATOR).map(|(at, _)| at);
        let ends = outer.filter(move |_| key == GROUP).chain([value.len()]);
        ends.map(move |end| (key.as_str(), &value[..end]))
    })
}

/// True if a measure with these tags has the tag; see [`all_tags`].
pub fn has_tag(tags: &Tags, key: &str, value: &str) -> bool {
    all_tags(tags).any(|tag| tag == (key, value))
}

/// The tags in which one of several sets differs from others, as text: `area=shop, region=north`.
pub fn difference(own: &Tags, all: &[Tags]) -> String {
    let differs = |key: &String| all.iter().any(|tags| tags.get(key) != own.get(key));
    let pairs = own.iter().filter(|(key, _)| differs(key));
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
    match pairs.is_empty() {
        true => OTHER.to_owned(),
        false => pairs.join(", "),
    }
}

/// Origin of a measure's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum MeasureKind {
    /// TCP (and TLS) connection set-up.
    Connect,
    /// An HTTP request, or a WebSocket send or expect.
    Request,
    /// Opening a WebSocket or an event stream.
    Handshake,
    /// A pushed message: from the sender's stamp to its receipt.
    Message,
    /// A redirect that a request followed: a part of that request's time.
    Redirect,
    /// Waiting between users: a rendezvous, a queue.
    Meeting,
    /// Several steps: a transaction, or a group.
    Transaction,
    /// Conditions; only errors are counted.
    Check,
    /// Times that the scenario has computed or saved.
    Value,
    /// Steps that failed of themselves and are no operations; only errors are counted.
    Step,
}

/// Measures every plan has, at fixed places.
pub mod builtin {
    use crate::ids::MeasureId;
    /// TCP and TLS connection set-up, one entry a connection.
    pub const CONNECT: MeasureId = MeasureId(0);
    /// The name of the measure that counts steps which failed and are no operations, and streams lost between steps; with a number
    /// behind it where the scenario measures something of that name.
    pub const FAULTS_NAME: &str = "steps";
    /// The name of sessions in figures, unless the scenario measures something of that name. They are no measure: users
    /// are counted apart.
    pub const SESSIONS_NAME: &str = "sessions";
    /// The name of the measure of redirects that were followed, with the same remark.
    pub const REDIRECTS_NAME: &str = "redirects";
    /// How many there are.
    pub const COUNT: usize = 1;
}
