//! Who emulates a lab's network: as the file says, and as this kernel can.

use super::Lab;

/// Whether this kernel has netem, as `check` says, and what it said.
fn checked(lab: &Lab) -> (bool, String) {
    let file = lab.space.path("lab.yaml");
    let text = lab.does(&["check", file.to_str().unwrap()]);
    let line = text.lines().find(|line| line.starts_with("  network: "));
    let line = line.unwrap().trim_start().to_owned();
    (line.starts_with("network: netem"), line)
}

#[test]
fn auto_is_netem_or_the_forwarder_with_the_reason() {
    let Some(lab) = Lab::new("auto", "network: auto\n") else {
        return;
    };
    let (has_netem, said) = checked(&lab);
    assert!(has_netem || said.contains("this kernel has no netem"), "{said}");
    lab.up();
    let status = lab.does(&["status"]);
    let expected = match has_netem {
        true => "network: netem;",
        false => "network: forwarder (this kernel has no netem",
    };
    assert!(status.contains(expected), "{status}");
    // Whoever it is: the distances are there.
    let measured = lab.does(&["calibrate", "--packets", "20"]);
    let line = measured.lines().nth(1).unwrap();
    assert!(line.starts_with("near – far"), "{measured}");
    // A dash for what did not come back stands beside that of the name.
    assert_eq!(line.matches('–').count(), 1, "{measured}");
    lab.does(&["down", "auto"]);
}

#[test]
fn netem_that_is_wanted_and_missing_is_an_error_before_anything_starts() {
    let Some(auto) = Lab::new("whether", "network: auto\n") else {
        return;
    };
    let (has_netem, _) = checked(&auto);
    let Some(lab) = Lab::new("netem", "network: { by: netem }\n") else {
        return;
    };
    let file = lab.space.path("lab.yaml");
    for verb in ["check", "up"] {
        let mut command = lab.command(&[verb, file.to_str().unwrap()]);
        let ended = crate::support::Ended::of(&mut command);
        if has_netem {
            ended.with(0);
        } else {
            assert_ne!(ended.code, Some(0), "{verb}");
            assert!(ended.err.contains("sch_netem"), "{verb}: {}", ended.err);
        }
    }
}
