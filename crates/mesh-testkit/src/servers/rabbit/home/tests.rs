#![cfg(unix)]

use super::*;

/// Folders and empty files that look like installations.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("mesh-home-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("bin")).unwrap();
        Self(folder)
    }

    fn erlang(&self) {
        for name in ["erl", "epmd"] {
            fs::write(self.0.join("bin").join(name), "").unwrap();
        }
    }

    fn rabbit(&self, system: &str, version: &str) -> PathBuf {
        let home = self.0.join(system).join(format!("rabbitmq_server-{version}"));
        fs::create_dir_all(home.join(format!("plugins/rabbit-{version}"))).unwrap();
        fs::create_dir_all(home.join("plugins/rabbit_common-9.9.9")).unwrap();
        fs::create_dir_all(home.join("sbin")).unwrap();
        fs::write(home.join("sbin/rabbitmq-server"), "").unwrap();
        fs::canonicalize(home).unwrap()
    }

    fn search(&self, named: Option<&Path>) -> Search {
        Search {
            named: named.map(|sbin| sbin.as_os_str().to_owned()),
            systems: vec![self.0.join("system"), self.0.join("nowhere")],
            path: vec![self.0.join("bin")],
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn nothing_found_is_an_error_that_says_what_brings_it() {
    let told = Machine::new("none").search(None).find().unwrap_err();
    assert!(told.contains("cargo xtask test") && told.contains(VARIABLE), "{told}");
}

#[test]
fn the_newest_is_taken_and_an_old_one_is_refused_with_the_reason() {
    let machine = Machine::new("newest");
    machine.erlang();
    machine.rabbit("system", "3.8.9");
    let told = machine.search(None).find().unwrap_err();
    assert!(told.contains("3.8.9 is too old: it must be at least 3.10.0"), "{told}");
    machine.rabbit("system", "3.10.8");
    let newest = machine.rabbit("system", "3.13.0");
    let found = machine.search(None).find().unwrap();
    assert_eq!((found.folder, found.version), (newest, Version(3, 13, 0)));
    assert!(found.epmd.ends_with("bin/epmd"));
}

#[test]
fn a_named_one_is_taken_and_never_replaced_by_another() {
    let machine = Machine::new("named");
    machine.erlang();
    machine.rabbit("system", "3.13.0");
    let other = machine.rabbit("elsewhere", "3.10.8");
    let found = machine.search(Some(&other.join("sbin"))).find().unwrap();
    assert_eq!(found.folder, other);
    let told = machine.search(Some(Path::new("nowhere"))).find().unwrap_err();
    assert!(told.contains("nowhere") && told.contains("holds no rabbitmq-server"), "{told}");
}

#[test]
fn without_erlang_none_will_do() {
    let machine = Machine::new("erlang");
    machine.rabbit("system", "3.10.8");
    let told = machine.search(None).find().unwrap_err();
    assert!(told.contains("erl and epmd are not on the PATH"), "{told}");
}

#[test]
fn a_link_on_the_path_leads_to_the_installation_and_a_wrapper_is_passed_over() {
    let machine = Machine::new("link");
    machine.erlang();
    let wrapper = machine.0.join("bin/rabbitmq-server");
    fs::write(&wrapper, "").unwrap();
    assert!(machine.search(None).find().is_err());
    fs::remove_file(&wrapper).unwrap();
    let home = machine.rabbit("cellar", "4.1.0");
    std::os::unix::fs::symlink(home.join("sbin/rabbitmq-server"), &wrapper).unwrap();
    assert_eq!(machine.search(None).find().unwrap().folder, home);
}
