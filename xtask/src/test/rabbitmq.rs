//! Brings the RabbitMQ that tests start: the system's package where that is Debian's, installed without
//! letting it start a broker of its own.

mod policy;

use std::env;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::run::{Failure, Workspace};
use policy::Forbidden;

// The one rule on versions and places stands where the tests look for it.
#[path = "../../../crates/mesh-testkit/src/servers/rabbit/home.rs"]
mod home;

use home::{Search, VARIABLE};

/// Where the package's own broker would listen, with Erlang's port mapper.
const PORTS: [u16; 3] = [5672, 4369, 25672];

/// Held by the run that installs. Only root writes there.
const LOCKED: &str = "/run/mesh-xtask.lock";

/// Waits for whoever else installs something, rather than fail.
const LOCK: [&str; 2] = ["-o", "DPkg::Lock::Timeout=300"];

pub(super) fn bring(_: &Workspace) -> Result<(), Failure> {
    if !cfg!(unix) {
        println!("tests on real servers run on Unix only: nothing to bring");
        return Ok(());
    }
    if !can_install() {
        return found().map_err(|told| Failure::new(needs(&told)));
    }
    // Two runs on this machine must not take the policy of each other for the machine's.
    let _held = lock().map_err(|error| Failure::new(format!("locking {LOCKED}: {error}")))?;
    policy::heal(Path::new(policy::FOLDER)).map_err(|error| policy_failed(&error))?;
    let Err(told) = found() else {
        return Ok(());
    };
    if env::var_os(VARIABLE).is_some_and(|name| !name.is_empty()) {
        return Err(Failure::new(told));
    }
    install()?;
    found().map_err(|told| Failure::new(needs(&told)))
}

fn lock() -> std::io::Result<File> {
    let file = File::create(LOCKED)?;
    file.lock()?;
    Ok(file)
}

/// Says what is there.
fn found() -> Result<(), String> {
    let home = Search::of_this_process().find()?;
    println!("RabbitMQ {} is there, in {}", home.version, home.folder.display());
    Ok(())
}

fn install() -> Result<(), Failure> {
    let before = listening();
    let forbidden =
        Forbidden::in_folder(Path::new(policy::FOLDER)).map_err(|error| policy_failed(&error))?;
    // Old lists may do, so that only the install decides.
    let updated = apt(&["update", "-q"]);
    let installed = apt(&["install", "-y", "-q", "--no-install-recommends", "rabbitmq-server"]);
    forbidden.lift().map_err(|error| policy_failed(&error))?;
    installed.map_err(|told| {
        let lists = updated.err().map_or(String::new(), |told| format!("{told}\n"));
        Failure::new(needs(&format!("{lists}{told}")))
    })?;
    let started: Vec<_> = listening().into_iter().filter(|port| !before.contains(port)).collect();
    if started.is_empty() {
        println!("installed the system's rabbitmq-server; nothing of it runs");
        return Ok(());
    }
    Err(Failure::new(format!(
        "the package rabbitmq-server started something of its own, at {started:?}, although \
         policy-rc.d said no. Stop it: it may be open to the network."
    )))
}

/// Runs apt-get; what it wrote to standard error is the error.
fn apt(arguments: &[&str]) -> Result<(), String> {
    let line = format!("apt-get {} {}", LOCK.join(" "), arguments.join(" "));
    println!("$ {line}");
    let output = Command::new("apt-get")
        .args(LOCK)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .map_err(|error| format!("{line}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{line}: {}\n{}", output.status, told.trim()))
}

/// Whether this is root on a system of Debian's kind.
fn can_install() -> bool {
    let root = Command::new("id").arg("-u").output();
    let root = root.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let path = env::var_os("PATH").unwrap_or_default();
    let apt = env::split_paths(&path).any(|folder| folder.join("apt-get").is_file());
    root && apt && Path::new("/etc/debian_version").exists()
}

/// Those of the package's ports where something listens.
fn listening() -> Vec<u16> {
    let reached = |port: &u16| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
    };
    PORTS.into_iter().filter(reached).collect()
}

fn needs(told: &str) -> String {
    format!(
        "{told}\nInstall RabbitMQ (Debian and Ubuntu: as root this step does it; Fedora: dnf install \
         rabbitmq-server; macOS: brew install rabbitmq), or let {VARIABLE} name the folder of an \
         installation's scripts. No broker needs to run: tests start their own. A package may start \
         one that listens on all interfaces; stop it."
    )
}

fn policy_failed(error: &std::io::Error) -> Failure {
    Failure::new(format!("forbidding packages to start services, with policy-rc.d: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_not_have_it_installed_is_told_what_to_do() {
        let told = needs("no RabbitMQ");
        for part in ["no RabbitMQ", "dnf install", "brew install", VARIABLE] {
            assert!(told.contains(part), "{told}");
        }
    }
}
