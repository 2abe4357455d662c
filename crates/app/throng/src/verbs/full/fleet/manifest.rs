//! `throng fleet manifest FILE`: the objects with which Kubernetes runs a scenario by a fleet.

mod objects;
mod pods;
mod yaml;

use std::io::Write;

use crate::args::fleet::ManifestArgs;
use crate::exit::{Exit, Failure, written};
use crate::full::Leniency;
use crate::source::{self, CompiledScenario};

use objects::{Manifest, NatsServer};

/// Most bytes of a scenario and its files: Kubernetes stores objects of 1 MiB, and names and labels are part of it.
const DATA_BYTES_MAX: usize = 1_000_000;
/// Longest name: that of a pod has 24 bytes more, and 63 at most.
const NAME_BYTES_MAX: usize = 39;
/// Bytes of the password of NATS.
const PASSWORD_BYTES: usize = 24;

/// Checks the scenario as `throng check` does, and prints the objects.
pub(super) fn manifest(args: &ManifestArgs) -> Result<Exit, Failure> {
    check(args)?;
    let text = source::scenario(&args.file, Leniency::Strict)?;
    let sets = &args.sets.sets;
    let overrides = [&text.sets[..], sets].concat();
    let CompiledScenario { inputs, .. } = source::compile(&text, &overrides)?;
    let files = files(inputs.files)?;
    let bytes: usize = files.iter().map(|(name, text)| name.len() + text.len()).sum();
    if bytes + text.text.len() > DATA_BYTES_MAX {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{} and its files are larger than a ConfigMap may be, 1 MB", args.file),
            "put them on a volume, and the run's Job in a manifest of your own",
        ));
    }
    let nats = match &args.nats {
        Some(url) => NatsServer::Yours(url),
        None => {
            let password = machine::secret(PASSWORD_BYTES);
            NatsServer::Own(password.map_err(|error| Failure::new(Exit::System, error))?)
        }
    };
    let manifest = Manifest {
        name: &args.name,
        namespace: args.namespace.as_deref(),
        image: &args.image,
        agents: args.agents,
        nats,
        scenario: &text.text,
        files: &files,
        sets: &overrides,
        reads_environment: !inputs.env.is_empty(),
    };
    if let [first, ..] = &inputs.env[..] {
        let name = &first.0;
        let secret = manifest.named("env");
        // Whoever reads the manifest is not to read secrets.
        let _ = writeln!(
            std::io::stderr(),
            "note: the scenario reads the environment; create it first: kubectl create secret generic {secret} \
             --from-literal={name}=…"
        );
    }
    written(std::io::stdout().write_all(yaml::documents(&manifest.objects()).as_bytes()))
}

/// Files as keys of a ConfigMap.
fn files(files: Vec<(String, Result<String, String>)>) -> Result<Vec<(String, String)>, Failure> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let mut keys = Vec::new();
    for (name, text) in files {
        // The scenario compiles without those that cannot be read.
        let Ok(text) = text else { continue };
        let why = match () {
            () if !name.chars().all(is_key) || name.is_empty() => {
                "its name is no key of a ConfigMap: letters, digits, -, _ and . only, without directories"
            }
            () if name.ends_with(".gz") => "it is compressed, and a ConfigMap holds texts",
            () if controller::is_private_key(&text) => {
                "it holds a private key, and whoever reads a ConfigMap reads it; use env('NAME') instead of file(…)"
            }
            () if name == "scenario.yaml" => "this is the name of the scenario itself there",
            () => {
                keys.push((name, text));
                continue;
            }
        };
        let hint = "put it beside the scenario under another name, unpacked";
        return Err(Failure::hinted(Exit::Data, format!("the file {name}: {why}"), hint));
    }
    Ok(keys)
}

/// Refuses what Kubernetes would refuse later.
fn check(args: &ManifestArgs) -> Result<(), Failure> {
    let refuse = |what: &str, hint: &str| Err(Failure::hinted(Exit::Usage, what.to_owned(), hint));
    if !is_label(&args.name) || args.name.len() > NAME_BYTES_MAX {
        let hint = "lower-case letters, digits and -, at most 39, the first a letter";
        return refuse(&format!("{:?} cannot be a prefix of names", args.name), hint);
    }
    if let Some(namespace) = args.namespace.as_deref().filter(|name| !is_label(name)) {
        let hint = "lower-case letters, digits and -, at most 63";
        return refuse(&format!("{namespace:?} is no name of a namespace"), hint);
    }
    let is_url = |url: &str| url.starts_with("nats://") || url.starts_with("tls://");
    if args.nats.as_deref().is_some_and(|url| !is_url(url)) {
        return refuse(
            "the URL of NATS has another scheme",
            "nats://HOST:PORT, or tls://HOST:PORT",
        );
    }
    if args.image.is_empty() || args.image.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return refuse(
            &format!("{:?} names no image", args.image),
            concat!("such as registry.example/throng:", env!("CARGO_PKG_VERSION")),
        );
    }
    Ok(())
}

/// A DNS label that starts with a letter (RFC 1035, section 2.3.1).
fn is_label(name: &str) -> bool {
    let within = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.chars().all(within)
}
