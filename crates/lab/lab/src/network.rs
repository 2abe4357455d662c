//! Choice of the emulator of a lab's network.

use crate::wan::{Choice, Emulator, Link, WanError, choose};

use crate::file::{LabFile, links_with};
use crate::layout;

/// Chooses the emulator of a lab's network on this machine, for the links of its file and for those that its
/// faults will make of them.
///
/// # Errors
/// The file wants netem, which this kernel does not have, or which cannot emulate a link.
pub fn emulator(file: &LabFile) -> Result<Choice, WanError> {
    let mut links = links(file);
    for timed in &file.faults {
        let changed = links_with(file, &[&timed.fault])?;
        links.extend(changed.into_iter().map(|(_, _, link)| link));
    }
    choose(file.emulator, &links)
}

/// Name of the chosen emulator, and the reason, in words.
pub fn in_words(choice: &Choice) -> String {
    let who = match choice.emulator {
        Emulator::Forwarder => "the forwarder",
        Emulator::Netem => "netem",
    };
    match &choice.why {
        Some(why) => format!("{who} ({why})"),
        None => who.to_owned(),
    }
}

/// The links between all places, as the machine is to emulate them.
pub(crate) fn links(file: &LabFile) -> Vec<Link> {
    let links = layout::links(file).into_iter();
    links.map(|link| link.stretched(file.dilation)).collect()
}

#[cfg(test)]
mod tests {
    use crate::wan::{Emulator, EmulatorRequest};
    use scenario::document::Source;

    use super::*;

    fn file(further: &str) -> LabFile {
        let text = format!(
            "
lab: who
network: auto
regions: [near, far]
links: [ {{ between: [near, far], round_trip: 20ms, loss: 1% }} ]
hosts: {{ box: {{ region: near }} }}
{further}"
        );
        let name = "lab.yaml";
        let (file, found) = crate::file::lab(Source { name, text: &text });
        file.unwrap_or_else(|| panic!("{found:?}"))
    }

    #[test]
    fn faults_count_when_it_is_chosen_who_emulates() {
        let file = file("faults: [ { at: 1s, for: 1s, degrade: near, rate: 1Mbit/s } ]");
        assert_eq!(file.emulator, EmulatorRequest::Auto);
        let choice = emulator(&file).unwrap();
        assert_eq!(choice.emulator, Emulator::Forwarder);
        let why = choice.why.unwrap();
        assert!(why.contains("rates"), "{why}");
    }

    #[test]
    fn without_such_faults_it_is_up_to_the_kernel() {
        let choice = emulator(&file("")).unwrap();
        let is_missing = crate::wan::netem_available().is_err();
        assert_eq!(choice.emulator == Emulator::Forwarder, is_missing);
        assert_eq!(choice.why.is_some(), is_missing);
    }
}
