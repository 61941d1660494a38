//! People are given credentials, open them, and have them taken away.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Output;

use mesh_control::compose::{Composition, More, Source};
use mesh_control::secrets::{Method, SecretStore, State};
use mesh_core::credential::Credential;
use mesh_core::name::UserName;
use mesh_core::time::Timestamp;
use mesh_testkit::servers::Certificate;
use serde_json::Value;

use super::{Folder, program, text};

const MESH: &str = "\
nodes = [{ name = 'n1' }]
people = [{ name = 'ada', tools = [] }, { name = 'bob', administrator = true }]
[[assignments]]
module = 'mail'
manifest = 'mail.toml'
nodes = ['n1']
";
const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent']\n";

/// A mesh whose modules have secrets already, and its bus's folder, from which no server runs.
struct Bed {
    folder: Folder,
    certificate: Certificate,
    /// All that was printed.
    shown: String,
}

impl Bed {
    fn new(name: &str, bus: &str) -> Self {
        let folder = Folder::new(name);
        folder.write("mesh.toml", format!("{MESH}[bus]\n{bus}\n"));
        folder.write("mail.toml", MAIL);
        let certificate = Certificate::local().unwrap();
        folder.write("bus/tls/cert.pem", certificate.cert_pem());
        let bed = Self { folder, certificate, shown: String::new() };
        let composition = bed.composition();
        let users = composition.users().iter().map(|user| user.name());
        let users = users.filter(|user| !user.starts_with("person."));
        let users: Vec<UserName> = users.map(|user| user.parse().unwrap()).collect();
        let mut store = SecretStore::create(bed.path("store"), "a test").unwrap();
        let method = Method::of(composition.bus());
        for minted in store.ensure(&users, method, Timestamp::UNIX_EPOCH).unwrap() {
            store.handed_over(minted.user(), &[]).unwrap();
        }
        bed
    }

    fn composition(&self) -> Composition {
        let text = fs::read_to_string(self.path("mesh.toml")).unwrap();
        let mesh = Source { file: "mesh.toml", text: &text };
        let mail = Source { file: "mail.toml", text: MAIL };
        Composition::of(mesh, &[mail], &More::default()).unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.0.join(name)
    }

    fn run(&mut self, command: &str) -> Output {
        let run = program().current_dir(&self.folder.0).args(command.split(' ')).output().unwrap();
        self.shown.push_str(&text(&run.stdout));
        self.shown.push_str(&text(&run.stderr));
        run
    }

    fn good(&mut self, command: &str) -> String {
        let run = self.run(command);
        assert_eq!(run.status.code(), Some(0), "{command}: {}", text(&run.stderr));
        assert_eq!(text(&run.stderr), "", "{command}");
        text(&run.stdout)
    }

    fn refused(&mut self, command: &str) -> String {
        let run = self.run(command);
        assert_eq!(run.status.code(), Some(2), "{command}: {}", text(&run.stdout));
        assert_eq!(text(&run.stdout), "", "{command}");
        text(&run.stderr)
    }

    fn operator(&mut self, rest: &str) -> String {
        self.good(&operator(rest))
    }

    fn composed(&self) -> String {
        fs::read_to_string(self.path("bus/nats-server.conf")).unwrap_or_default()
    }

    fn state(&self, user: &str) -> Option<State> {
        let store = SecretStore::open(self.path("store"), "a test").unwrap();
        store.record(user).map(|record| record.state)
    }
}

/// A verb with the places that each needs.
fn operator(rest: &str) -> String {
    format!("operator {rest} --mesh mesh.toml --store store --bus bus")
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn password(path: &Path) -> String {
    let credential = Credential::parse(fs::read(path).unwrap()).unwrap();
    let login = credential.url().server().unwrap().login().unwrap();
    login.password().expose().to_owned()
}

#[test]
fn a_person_makes_a_key_is_issued_a_credential_and_opens_it_without_another_program() {
    for (name, bus) in [("issued", ""), ("issued-nkey", "secrets = 'nkey'")] {
        let mut bed = Bed::new(name, bus);
        let key = bed.good("operator keygen ada.key");
        let key = key.trim_end();
        assert!(key.starts_with("age1"), "{key}");
        assert_eq!(mode(&bed.path("ada.key")), 0o600);

        let sealed = bed.operator(&format!("issue ada --recipient {key}"));
        assert!(sealed.starts_with("-----BEGIN AGE ENCRYPTED FILE-----\n"), "{sealed}");
        bed.folder.write("ada.age", &sealed);
        let opened = bed.good("credential open ada.age --identity ada.key --out ada.json");
        assert!(
            opened.starts_with("ada.json: the credential of person ada, at tls://"),
            "{opened}"
        );
        assert_eq!(mode(&bed.path("ada.json")), 0o600);
        let credential = Credential::parse(fs::read(bed.path("ada.json")).unwrap()).unwrap();
        let server = credential.url().server().unwrap();
        assert_eq!(credential.principal().to_string(), "person ada");
        assert_eq!((server.host().to_string(), server.port()), ("127.0.0.1".to_owned(), 4222));
        let pinned: Vec<String> =
            credential.fingerprints().iter().map(ToString::to_string).collect();
        assert_eq!(pinned, [bed.certificate.fingerprint()]);
        // What the server is told proves what ada was given.
        let store = SecretStore::open(bed.path("store"), "a test").unwrap();
        let kept = store.kept("person.ada").unwrap().clone();
        drop(store);
        assert!(bed.composed().contains(kept.as_str()));
        let login = server.login().unwrap();
        if bus.is_empty() {
            assert_eq!((kept.kind(), login.user()), ("bcrypt", "person.ada"));
        } else {
            assert_eq!((kept.kind(), login.user()), ("nkey", kept.as_str()));
        }

        // The same again is no change, and another thing in the same place is not written.
        let again = bed.good("credential open ada.age --identity ada.key --out ada.json");
        assert!(again.ends_with("(it was there already)\n"), "{again}");
        bed.folder.write("other.json", "{}");
        let told = bed.refused("credential open ada.age --identity ada.key --out other.json");
        assert!(told.contains("other.json: something else is there") && told.contains("--replace"));
        bed.good("credential open ada.age --identity ada.key --out other.json --replace");
        assert_eq!(mode(&bed.path("other.json")), 0o600);
        bed.good("operator keygen eve.key");
        let told = bed.refused("credential open ada.age --identity eve.key --out eve.json");
        assert!(told.contains("ada.age: not sealed to this key"), "{told}");

        let json = bed.good("--json operator list --store store --mesh mesh.toml");
        let listed: Value = serde_json::from_str(&json).unwrap();
        let users = listed["users"].as_array().unwrap();
        let ada = users.iter().find(|user| user["user"] == "person.ada").unwrap();
        assert_eq!((&ada["state"], &ada["sealed_to"][0]), (&"live".into(), &key.into()));
        assert_eq!((&ada["old"], &listed["without"][0]), (&false.into(), &"person.bob".into()));

        let secret = password(&bed.path("ada.json"));
        let files = ["ada.key", "eve.key"].map(|file| fs::read_to_string(bed.path(file)).unwrap());
        for secret in files.iter().map(|file| file.lines().last().unwrap()).chain([&*secret]) {
            assert!(!bed.shown.contains(secret) && !bed.composed().contains(secret));
        }
    }
}

#[test]
fn who_has_a_credential_is_not_given_another_unasked() {
    let mut bed = Bed::new("issued-twice", "");
    bed.operator("issue ada --plain --out ada.json");
    assert_eq!(mode(&bed.path("ada.json")), 0o600);
    let (first, composed) = (password(&bed.path("ada.json")), bed.composed());
    let told = bed.refused(&operator("issue ada --plain --out again.json"));
    assert!(told.contains("ada has a credential, made ") && told.contains("--rotate"), "{told}");
    assert!(!bed.path("again.json").exists());
    // What can't be handed over isn't minted, nor does it take the place of what is.
    let told = bed.refused(&operator("issue ada --plain --out ada.json --rotate"));
    assert!(told.contains("ada.json: something else is there"), "{told}");
    symlink("ada.json", bed.path("link.json")).unwrap();
    for out in ["link.json --replace", "no/such/folder.json", "bus"] {
        bed.refused(&operator(&format!("issue ada --plain --rotate --out {out}")));
    }
    assert_eq!(bed.composed(), composed);
    bed.operator("issue ada --plain --out ada.json --replace --rotate");
    let second = password(&bed.path("ada.json"));
    assert_ne!(first, second);
    assert_ne!(bed.composed(), composed);
    for secret in [first, second] {
        assert!(!bed.shown.contains(&secret) && !bed.composed().contains(&secret));
    }
}

#[test]
fn who_is_revoked_has_no_account_until_another_secret_is_made() {
    let mut bed = Bed::new("revoked", "");
    let told = bed.refused(&operator("revoke ada"));
    assert!(told.contains("ada has no credential"), "{told}");
    bed.operator("issue ada --plain --out ada.json");
    bed.operator("issue bob --plain --out bob.json");
    assert!(bed.composed().contains("person.ada"));
    let told = bed.operator("revoke ada");
    assert!(told.starts_with("person.ada is revoked\n"), "{told}");
    assert!(!bed.composed().contains("person.ada") && bed.composed().contains("person.bob"));
    let told = bed.operator("revoke ada");
    assert!(told.starts_with("person.ada is revoked already\n"), "{told}");
    let told = bed.refused(&operator("issue ada --plain --out new.json"));
    assert!(told.contains("ada is revoked") && told.contains("--rotate"), "{told}");
    bed.operator("issue ada --plain --out new.json --rotate");
    assert!(bed.composed().contains("person.ada"));
    // Whoever is no longer in the mesh file can be revoked, too.
    bed.folder.write("mesh.toml", MESH.replace("{ name = 'ada', tools = [] }, ", ""));
    bed.operator("revoke ada");
    assert_eq!(bed.state("person.ada"), Some(State::Revoked));
}

#[test]
fn a_person_whom_the_mesh_does_not_have_is_not_let_in() {
    let mut bed = Bed::new("unknown-person", "");
    let told = bed.refused(&operator("issue adda --plain --out x.json"));
    assert!(told.contains("the mesh has no person adda") && told.contains("did you mean ada?"));
    let told = bed.refused(&operator("issue zacharias --plain --out x.json"));
    assert!(told.contains("people = [{ name = \"zacharias\""), "{told}");
    let told = bed.refused(&operator("issue a/../b --plain --out x.json"));
    assert!(told.contains("person name"), "{told}");
    assert_eq!(bed.state("person.adda"), None);
}

#[test]
fn a_credential_is_sealed_or_plain_in_a_file_and_never_printed() {
    let mut bed = Bed::new("forms", "");
    bed.refused(&operator("issue ada"));
    bed.refused(&operator("issue ada --plain"));
    let told = bed.refused(&operator("issue ada --recipient age1nobody"));
    assert!(told.contains("not an age recipient"), "{told}");
    bed.good("operator keygen ada.key");
    let secret = fs::read_to_string(bed.path("ada.key")).unwrap();
    let secret = secret.lines().last().unwrap();
    let run = bed.run(&operator(&format!("issue ada --recipient {secret}")));
    assert_eq!(run.status.code(), Some(2));
    let told = text(&run.stderr);
    assert!(told.contains("a secret key"), "{told}");
    assert!(!told.contains(secret), "what should not have been typed is not repeated: {told}");
    assert_eq!(bed.state("person.ada"), None);
}

#[test]
fn a_manifest_that_is_refused_ends_no_module_unasked() {
    let mut bed = Bed::new("half-written", "");
    bed.operator("issue bob --plain --out bob.json");
    assert!(bed.composed().contains("mail.n1"));
    bed.folder.write("mail.toml", "name = 'mail'\nemits = [");
    for verb in ["issue ada --plain --out ada.json", "revoke bob"] {
        let told = bed.refused(&operator(verb));
        assert!(told.contains("mail.toml:") && told.contains("--leave-out-refused"), "{told}");
    }
    assert!(!bed.path("ada.json").exists() && bed.composed().contains("mail.n1"));
    bed.operator("revoke bob --leave-out-refused");
    assert!(!bed.composed().contains("mail.n1"));
    // Nobody got what was minted for ada in vain, so that nothing has to be rotated.
    bed.folder.write("mail.toml", MAIL);
    bed.operator("issue ada --plain --out ada.json");
    assert!(bed.composed().contains("mail.n1"));
}

#[test]
fn a_store_that_is_open_damaged_held_or_absent_is_told_with_what_to_do() {
    let mut bed = Bed::new("stores", "");
    let told = bed.refused("operator list --store no/such");
    assert!(told.contains("no such folder") && told.contains("mkdir -m 700"), "{told}");
    fs::set_permissions(bed.path("store"), Permissions::from_mode(0o755)).unwrap();
    let told = bed.refused("operator list --store store");
    assert!(told.contains("mode 755") && told.contains("chmod 700"), "{told}");
    fs::set_permissions(bed.path("store"), Permissions::from_mode(0o700)).unwrap();
    let held = SecretStore::open(bed.path("store"), "a long thing").unwrap();
    let told = bed.refused("operator list --store store");
    let holder = format!("in use by process {} (a long thing)", std::process::id());
    assert!(told.contains(&holder), "{told}");
    drop(held);
    let file = bed.path("store/mail.n1.json");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let run = bed.run("operator list --store store");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stdout).contains("damaged: store/mail.n1.json: cut off"));
    // It is not made anew: who has mail's credential would be shut out.
    let told = bed.refused(&operator("issue ada --plain --out ada.json"));
    assert!(told.contains("store/mail.n1.json: cut off"), "{told}");
    let told = bed.refused("perm compose --mesh mesh.toml --store store --out bus");
    assert!(told.contains("store/mail.n1.json: cut off"), "{told}");
    assert_eq!(fs::read(&file).unwrap().len(), whole.len() / 2);
}

#[test]
fn a_key_that_is_there_is_left_alone() {
    let mut bed = Bed::new("keygen", "");
    let json = bed.good("--json operator keygen ada.key");
    let made: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&made["schema"], &made["file"]),
        (&"mesh.operator.key/1".into(), &"ada.key".into())
    );
    let before = fs::read_to_string(bed.path("ada.key")).unwrap();
    assert!(before.contains(made["recipient"].as_str().unwrap()));
    let told = bed.refused("operator keygen ada.key");
    assert!(told.contains("ada.key: something else is there"), "{told}");
    assert_eq!(fs::read_to_string(bed.path("ada.key")).unwrap(), before);
    assert!(!bed.shown.contains(before.lines().last().unwrap()));
}

#[test]
fn a_credential_is_not_handed_over_before_the_server_runs_with_it() {
    use mesh_control::folder::{BusFolder, Digest, Outcome, ReloadReport};

    let mut bed = Bed::new("not-live", "");
    let bus = BusFolder::at(bed.path("bus"));
    // As a supervisor holds it.
    let lock = fs::File::create(bed.path("bus/.supervisor.lock")).unwrap();
    lock.try_lock().unwrap();
    assert!(bus.is_supervised().unwrap());
    let told = bed.refused(&operator("issue ada --plain --out ada.json --wait 1"));
    assert!(told.contains("nothing was said of the new file within 1 s"), "{told}");
    assert!(!bed.path("ada.json").exists());
    assert_eq!(bed.state("person.ada"), Some(State::Minted));

    let refuse = |bus: &BusFolder, before: &Digest| {
        let file = loop {
            let file = bus.read().unwrap().map(Digest::of);
            match file.filter(|file| file != before) {
                Some(file) => break file,
                None => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        };
        let mut report = ReloadReport::new(Timestamp::UNIX_EPOCH, Outcome::Refused, Some(file));
        report.error = Some("nats-server.conf:7: not today".to_owned());
        bus.tell(&report).unwrap();
    };
    let before = Digest::of(bed.composed());
    let supervisor = std::thread::spawn(move || refuse(&bus, &before));
    let told = bed.refused(&operator("issue ada --plain --out ada.json"));
    supervisor.join().unwrap();
    assert!(told.contains("refused") && told.contains("nats-server.conf:7: not today"), "{told}");
    assert!(!bed.path("ada.json").exists());

    let json =
        bed.good(&format!("--json {}", operator("issue ada --plain --out ada.json --no-wait")));
    let issued: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(issued["reached"], "not-waited");
    drop(lock);
    let json = bed.good(&format!("--json {}", operator("revoke ada")));
    let revoked: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&revoked["reached"], &revoked["changed"]), (&"no-bus".into(), &true.into()));
}

#[test]
fn a_slip_in_the_buss_folder_revokes_nobody_there_and_makes_no_folder() {
    let mut bed = Bed::new("bus-slip", "");
    bed.operator("issue ada --plain --out ada.json");
    for verb in ["revoke ada", "issue ada --rotate --plain --out new.json"] {
        let told =
            bed.refused(&format!("operator {verb} --mesh mesh.toml --store store --bus buss"));
        assert!(told.contains("buss: there is no such folder") && told.contains("--bus"), "{told}");
    }
    assert_eq!(bed.state("person.ada"), Some(State::Live));
    assert!(!bed.path("buss").exists());
}

#[test]
fn a_rotation_that_can_not_be_composed_leaves_the_secret_that_counts() {
    let mut bed = Bed::new("rotation", "");
    bed.operator("issue ada --plain --out ada.json");
    bed.folder.write("mail.toml", "name = 'mail'\nemits = [");
    bed.refused(&operator("issue ada --rotate --plain --out new.json"));
    assert_eq!(bed.state("person.ada"), Some(State::Live));
    bed.folder.write("mail.toml", MAIL);
    let before = bed.composed();
    bed.good("perm compose --store store --out bus");
    assert_eq!(bed.composed(), before, "what ada has counts in what is composed next");
}

#[test]
fn a_person_is_named_as_in_the_mesh_file_and_a_place_that_is_not_there_is_not_to_be_replaced() {
    let mut bed = Bed::new("person-slip", "");
    let told = bed.refused(&operator("issue person.ada --plain --out ada.json"));
    assert!(told.contains("write ada, as the mesh file does"), "{told}");
    let told = bed.refused(&operator("issue ada --plain --out no/ada.json"));
    assert!(told.contains("can't write it") && !told.contains("--replace"), "{told}");
    fs::remove_file(bed.path("bus/tls/cert.pem")).unwrap();
    let told = bed.refused(&operator("issue ada --plain --out ada.json"));
    assert!(told.contains("`mesh bus certificate bus/tls`") && !told.contains("stdin"), "{told}");
}
