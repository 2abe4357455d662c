//! `throng lab`: emulated hosts in emulated regions.

mod describe;
mod inside;
mod prices;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lab::client::{Client, ClientError, Exec};
use lab::folder::{self, Folder};
use lab::launch::{self, LaunchError, LaunchedLab, Stay};
use lab::{EmulatorRequest, LabFile, memory_granted, missing_programs};
use scenario::document::Source;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

pub(crate) use inside::surroundings;

use crate::args::lab::{
    LabCalibrateArgs, LabDownArgs, LabExecArgs, LabFaultArgs, LabFileArgs, LabKeepArgs,
    LabLogsArgs, LabRepairArgs, LabRunArgs, LabScaleArgs, LabStatusArgs, LabVerb, Scale,
};
use crate::exit::{Exit, Failure, print_text, written};
use crate::source;

/// Environment variable with the folder of the lab that a command runs in.
pub(crate) const VARIABLE: &str = "THRONG_LAB";

pub(crate) fn lab(verb: LabVerb) -> Result<Exit, Failure> {
    match verb {
        LabVerb::Check(args) => check(&args),
        LabVerb::Up(args) => up(&args),
        LabVerb::Run(args) => run(&args),
        LabVerb::Status(args) => status(&args),
        LabVerb::Exec(args) => exec(&args),
        LabVerb::Logs(args) => logs(&args),
        LabVerb::Calibrate(args) => calibrate(&args),
        LabVerb::Fault(args) => fault(&args),
        LabVerb::Repair(args) => repair(&args),
        LabVerb::Scale(args) => scale(&args),
        LabVerb::Down(args) => down(&args),
        LabVerb::Keep(args) => keep(&args),
    }
}

/// A lab's file that can be used.
struct File {
    lab: LabFile,
    text: String,
    path: PathBuf,
}

fn read(args: &LabFileArgs) -> Result<File, Failure> {
    let name = &args.file;
    let text = source::read(name)?;
    let (lab, diagnostics) = lab::lab(Source { name: &text.name, text: &text.text });
    source::print_diagnostics(&text, &diagnostics);
    let lab = lab.ok_or_else(|| {
        let message = format!("{name} cannot be used");
        Failure::hinted(Exit::Data, message, "docs/lab.md lists every key")
    })?;
    let lab = match args.dilation {
        Some(factor) => lab.dilated(factor).map_err(|why| {
            Failure::hinted(Exit::Usage, why, "docs/lab.md says what `--dilation` does")
        })?,
        None => lab,
    };
    let path = std::path::absolute(name).map_err(|error| Failure::new(Exit::NoInput, error))?;
    prices::check(Path::new(name), &lab)?;
    Ok(File { lab, text: text.text, path })
}

fn check(args: &LabFileArgs) -> Result<Exit, Failure> {
    let file = read(args)?;
    print_text(&describe::file(&file.lab))?;
    require(&file)?;
    let network = emulator(&file)?;
    written(writeln!(std::io::stdout(), "  network: {network}"))
}

/// Emulator of the network, in words. Without root the kernel is tried only in the namespaces of
/// the lab.
fn emulator(file: &File) -> Result<String, Failure> {
    if file.lab.emulator != EmulatorRequest::Forwarder && folder::is_unprivileged() {
        return Ok("netem, if this kernel has it: `up` says so".to_owned());
    }
    let choice =
        lab::emulator(&file.lab).map_err(|error| Failure::new(Exit::Unavailable, error))?;
    Ok(lab::emulator_in_words(&choice))
}

/// Checks that this machine has all that a lab needs.
fn require(file: &File) -> Result<(), Failure> {
    if let Some((program, line, hint)) = missing_programs(&file.lab).first() {
        let message = format!("{}:{line}: `{program}` is not installed", file.path.display());
        return Err(Failure::hinted(Exit::Unavailable, message, hint));
    }
    let granted = memory_granted(&file.lab);
    let spare = machine::Memory::read().map(|memory| memory.spare_bytes());
    if let Some(spare) = spare.filter(|spare| *spare < granted) {
        let message = format!(
            "the hosts may use {} of memory together, and this machine has {} left",
            units::bytes(granted),
            units::bytes(spare)
        );
        return Err(Failure::hinted(
            Exit::System,
            message,
            "give the hosts less `memory`, or use fewer",
        ));
    }
    Ok(())
}

fn up(args: &LabFileArgs) -> Result<Exit, Failure> {
    let file = read(args)?;
    bring_up(&file, Stay::UntilDown)?;
    let name = &file.lab.name;
    written(writeln!(std::io::stdout(), "the lab `{name}` is up; `throng lab down {name}` ends it"))
}

fn bring_up(file: &File, stay: Stay) -> Result<LaunchedLab, Failure> {
    require(file)?;
    let program = own_program()?;
    if folder::is_unprivileged() {
        return Err(begin_as_root_of_a_namespace(&program));
    }
    let mut progress = |text: &str| {
        if crate::exit::shows_warnings() {
            // Nobody may read it.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    };
    let up = launch::up(&file.lab, &file.text, &file.path, &program, stay, &mut progress);
    up.map_err(launched)
}

/// Begins this command again in a user namespace, in which this user is root; an error says why it cannot.
fn begin_as_root_of_a_namespace(program: &Path) -> Failure {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--"])
        .arg(program)
        .args(std::env::args_os().skip(1))
        // There the user's name is another.
        .env(folder::VARIABLE, folder::root());
    let error = command.exec();
    Failure::hinted(
        Exit::System,
        format!("a lab needs root, or a user namespace: `unshare` cannot be started: {error}"),
        "run it as root, or install util-linux",
    )
}

fn launched(error: LaunchError) -> Failure {
    let exit = match error {
        LaunchError::NotPermitted(_) => Exit::System,
        _ => Exit::Unavailable,
    };
    match &error {
        LaunchError::Taken(name) => {
            let hint = format!("`throng lab down {name}` ends it");
            Failure::hinted(exit, error.to_string(), &hint)
        }
        _ => Failure::new(exit, error),
    }
}

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))
}

fn run(args: &LabRunArgs) -> Result<Exit, Failure> {
    let file = read(&args.file)?;
    let Some(run) = &file.lab.run else {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{} has nothing to run", args.file.file),
            "write `scenario: FILE` or `experiment: FILE`",
        ));
    };
    let stay = if args.keep { Stay::UntilDown } else { Stay::WithCaller };
    let up = bring_up(&file, stay)?;
    let ended = conduct(&file, run, &up.folder, args);
    if !args.keep {
        launch::down(&file.lab.name).map_err(launched)?;
    }
    ended.and_then(exit_as)
}

/// Ends with the exit code of another process.
fn exit_as(code: i32) -> Result<Exit, Failure> {
    match code {
        0 => Ok(Exit::Passed),
        code => std::process::exit(code),
    }
}

/// Runs the lab's scenario on the host that conducts.
fn conduct(
    file: &File,
    run: &lab::file::Run,
    folder: &Folder,
    args: &LabRunArgs,
) -> Result<i32, Failure> {
    let status = Client::connect(folder).and_then(Client::status);
    let status = status.map_err(|error| unreachable(&file.lab.name, error))?;
    let verb = if run.is_experiment { "experiment" } else { "run" };
    let beside = file.path.parent().unwrap_or(Path::new("."));
    let mut command =
        vec!["throng".to_owned(), verb.to_owned(), beside.join(&run.file).display().to_string()];
    for (key, value) in &status.sets {
        command.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let further = args.arguments.iter().map(|word| word.to_string_lossy());
    command.extend(further.map(std::borrow::Cow::into_owned));
    let code = call(folder, lab::file::CONTROL, command, status.environment);
    code.map_err(|error| unreachable(&file.lab.name, error))
}

/// Runs a command on a host, with this process's environment and directory, and passes signals on.
fn call(
    folder: &Folder,
    host: &str,
    command: Vec<String>,
    further: BTreeMap<String, String>,
) -> Result<i32, ClientError> {
    let mut environment: BTreeMap<String, String> = std::env::vars().collect();
    environment.extend(further);
    let path = folder.path().display().to_string();
    environment.insert(VARIABLE.to_owned(), path);
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let exec = Exec { host, command, environment, folder: &here };
    Client::connect(folder)?.exec(exec, |pass| {
        // Without handlers a signal ends this process, and the command with it.
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
            std::thread::spawn(move || signals.forever().for_each(pass));
        }
    })
}

/// The lab that is meant.
fn find(name: Option<&str>) -> Result<(String, Folder), Failure> {
    if let Some(name) = name {
        return Ok((name.to_owned(), Folder::by_name(name)));
    }
    let all = folder::all();
    match &all[..] {
        [name] => Ok((name.clone(), Folder::by_name(name))),
        [] => Err(Failure::hinted(
            Exit::NoInput,
            "no lab is up".to_owned(),
            "`throng lab up FILE` brings one up",
        )),
        _ => Err(Failure::hinted(
            Exit::Usage,
            format!("several labs are up: {}", all.join(", ")),
            "name one with `--lab NAME`",
        )),
    }
}

fn unreachable(name: &str, error: ClientError) -> Failure {
    let hint = format!("`throng lab down {name}` removes what a lab that was killed has left");
    match error {
        ClientError::Refused(why) => {
            Failure::hinted(Exit::Data, why, "`throng lab status` lists what there is")
        }
        error => Failure::hinted(Exit::Unavailable, format!("`{name}`: {error}"), &hint),
    }
}

fn status(args: &LabStatusArgs) -> Result<Exit, Failure> {
    let (name, folder) = find(args.lab.name.as_deref())?;
    let status = Client::connect(&folder).and_then(Client::status);
    let status = status.map_err(|error| unreachable(&name, error))?;
    let text = match args.json {
        true => {
            serde_json::to_string_pretty(&status).map_err(|error| Failure::new(Exit::Io, error))?
                + "\n"
        }
        false => describe::status(&status),
    };
    print_text(&text)
}

fn exec(args: &LabExecArgs) -> Result<Exit, Failure> {
    let (name, folder) = find(args.lab.name.as_deref())?;
    let code = call(&folder, &args.host, args.command.clone(), BTreeMap::new());
    exit_as(code.map_err(|error| unreachable(&name, error))?)
}

fn logs(args: &LabLogsArgs) -> Result<Exit, Failure> {
    let (name, folder) = find(args.lab.name.as_deref())?;
    let status = Client::connect(&folder).and_then(Client::status);
    let status = status.map_err(|error| unreachable(&name, error))?;
    let instances = status.instances.iter().map(|instance| instance.name.as_str());
    let is_meant = |instance: &&str| {
        *instance == args.service || instance.split('@').next() == Some(&args.service)
    };
    let meant: Vec<&str> = instances.clone().filter(is_meant).collect();
    if meant.is_empty() {
        let all: Vec<&str> = instances.collect();
        let hint = format!("the instances are {}", all.join(", "));
        let message = format!("there is no service `{}`", args.service);
        return Err(Failure::hinted(Exit::Data, message, &hint));
    }
    for instance in &meant {
        let log = regular::open(&folder.log(instance));
        let mut log = log.map_err(|error| Failure::new(Exit::NoInput, error))?;
        if meant.len() > 1 {
            written(writeln!(std::io::stdout(), "==> {instance} <=="))?;
        }
        written(std::io::copy(&mut log, &mut std::io::stdout()).map(drop))?;
    }
    Ok(Exit::Passed)
}

fn calibrate(args: &LabCalibrateArgs) -> Result<Exit, Failure> {
    let (name, folder) = find(args.lab.name.as_deref())?;
    let pairs = Client::connect(&folder).and_then(|client| client.calibrate(args.packets));
    let pairs = pairs.map_err(|error| unreachable(&name, error))?;
    written(write!(std::io::stdout(), "{}", describe::pairs(&pairs)))
}

fn fault(args: &LabFaultArgs) -> Result<Exit, Failure> {
    let (name, folder) = find(args.lab.name.as_deref())?;
    let begun = Client::connect(&folder).and_then(|client| client.fault(&args.fault));
    let number = begun.map_err(|error| unreachable(&name, error))?;
    let Some(duration) = args.duration else {
        return written(writeln!(
            std::io::stdout(),
            "fault {number}; `throng lab repair {number}` ends it"
        ));
    };
    let status = Client::connect(&folder).and_then(Client::status);
    let dilation = status.map_err(|error| unreachable(&name, error))?.dilation;
    rest(duration * dilation);
    let ended = Client::connect(&folder).and_then(|client| client.repair(number));
    ended.map_err(|error| unreachable(&name, error))?;
    Ok(Exit::Passed)
}

#[expect(clippy::disallowed_methods, reason = "a fault lasts as long as is said")]
fn rest(duration: Duration) {
    std::thread::sleep(duration);
}

fn repair(args: &LabRepairArgs) -> Result<Exit, Failure> {
    let (name, folder) = find(args.lab.name.as_deref())?;
    let ended = Client::connect(&folder).and_then(|client| client.repair(args.number));
    ended.map_err(|error| unreachable(&name, error))?;
    Ok(Exit::Passed)
}

fn scale(args: &LabScaleArgs) -> Result<Exit, Failure> {
    let (name, folder) = find(args.lab.name.as_deref())?;
    let Scale { service, region, count } = &args.scale;
    let scaled = Client::connect(&folder)
        .and_then(|client| client.scale(service, region.as_deref(), *count));
    scaled.map_err(|error| unreachable(&name, error))?;
    Ok(Exit::Passed)
}

fn down(args: &LabDownArgs) -> Result<Exit, Failure> {
    let (name, _) = find(args.name.as_deref())?;
    if launch::down(&name).map_err(launched)? {
        return Ok(Exit::Passed);
    }
    Err(Failure::hinted(
        Exit::NoInput,
        format!("there is no lab `{name}`"),
        "`throng lab status` shows the one that is up",
    ))
}

fn keep(args: &LabKeepArgs) -> Result<Exit, Failure> {
    if args.inner {
        launch::keep(&args.folder).map_err(launched)?;
        return Ok(Exit::Passed);
    }
    let stay = if args.with_input { Stay::WithCaller } else { Stay::UntilDown };
    let code = launch::first_process(&args.folder, &own_program()?, stay).map_err(launched)?;
    exit_as(code)
}
