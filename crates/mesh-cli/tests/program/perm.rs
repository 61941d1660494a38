//! `mesh perm`: what may be done by a mesh's files, asked, compared and composed.

use serde_json::Value;

use super::snapshots::in_each_form;
use super::{Folder, program, text};

const PAGE: &str = include_str!("../../../../docs/permissions.md");

/// The page's files, in a folder.
pub(crate) fn files(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut files = 0;
    for block in PAGE.split("```toml\n# ").skip(1) {
        let (name, file) = block.split("```").next().unwrap().split_once('\n').unwrap();
        folder.write(name, file);
        files += 1;
    }
    assert_eq!(files, 5);
    folder
}

fn run(folder: &Folder, command: &str) -> std::process::Output {
    program().current_dir(&folder.0).args(command.split_whitespace()).output().unwrap()
}

fn code(folder: &Folder, command: &str) -> i32 {
    run(folder, command).status.code().unwrap()
}

macro_rules! snapshot {
    ($name:ident, $command:expr) => {
        #[test]
        fn $name() {
            let folder = files(concat!("perm-", stringify!($name)));
            insta::assert_snapshot!(in_each_form(&folder, $command));
        }
    };
}

snapshot!(an_event_may_be_emitted, "perm can-i mail.n1 publish mesh.events.mail.letter.sent");
snapshot!(an_event_of_another_may_not, "perm can-i mail.n1 publish mesh.events.vault.opened");
snapshot!(what_is_denied, "perm can-i person.ada publish mesh.tools.vault.provision_grant");
snapshot!(
    a_reply_address_of_the_servers,
    "perm can-i mail.n1 publish mesh.tools.vault.open --reply $JS.ACK.EVENTS.n1_mail.1.1.1.0.0"
);
snapshot!(a_group_that_is_missing, "perm can-i vault.n2 subscribe mesh.tools.vault.open");
snapshot!(a_user_with_a_typo, "perm can-i mail.n2 publish mesh.events.mail.letter.sent");
snapshot!(a_message_to_a_pattern, "perm can-i mail.n1 publish mesh.events.mail.*");
snapshot!(all_that_a_module_may, "perm explain mail.n1");
snapshot!(all_that_the_controller_may, "perm explain controller-edge");
snapshot!(what_a_person_may_with_a_tool, "perm explain person.bob mesh.tools.mail.send");
snapshot!(who_may_at_a_tool, "perm who mesh.tools.vault.open");
snapshot!(who_may_at_a_pattern, "perm who _INBOX.>");
snapshot!(a_change_that_widens, "perm diff mesh.toml next.toml");
snapshot!(a_change_that_does_not, "perm diff next.toml mesh.toml");
snapshot!(no_change, "perm diff mesh.toml mesh.toml");

#[test]
fn yes_is_0_no_is_1_and_nobody_can_say_is_2() {
    let folder = files("perm-codes");
    for (command, expected) in [
        ("can-i mail.n1 publish mesh.events.mail.letter.sent", 0),
        ("can-i mail.n1 publish mesh.events.mail.letter.lost", 1),
        ("can-i person.ada publish mesh.tools.vault.provision_grant", 1),
        ("can-i mail.n1 publish mesh.events.mail.letter.sent --reply _R_.a", 1),
        ("can-i vault.n1 subscribe mesh.tools.vault.open --group serve", 0),
        ("can-i vault.n1 subscribe mesh.tools.vault.open", 1),
        ("can-i mail.n1 publish mesh.events.*", 2),
        ("can-i mail.n1 publish mesh..events", 2),
        ("can-i mail.n1 publish a --group g", 2),
        ("can-i mail.n1 subscribe a --reply b", 2),
        ("can-i mail.n1 subscribe a --group g.g", 2),
        ("can-i nobody publish a", 2),
        ("can-i mail.n1 publish a --mesh no/such.toml", 2),
        ("can-i mail.n1 publish a --mesh mail.toml", 2),
        ("can-i mail.n1 publish mesh.events.mail.letter.sent --mesh .", 0),
        ("explain mail.n1", 0),
        ("explain mail.n1 mesh.events.vault.opened", 0),
        ("explain nobody", 2),
        ("who mesh.tools.vault.open", 0),
        ("who mesh..tools", 2),
        ("diff mesh.toml mesh.toml", 0),
        ("diff mesh.toml next.toml", 1),
        ("diff next.toml mesh.toml", 0),
        ("diff . mesh.toml", 0),
        ("diff mesh.toml no/such.toml", 2),
    ] {
        let command = format!("perm {command}");
        let ran = run(&folder, &command);
        assert_eq!(ran.status.code(), Some(expected), "mesh {command}: {}", text(&ran.stderr));
        if expected == 2 {
            assert!(text(&ran.stderr).contains("hint: "), "mesh {command}: {}", text(&ran.stderr));
        }
    }
}

#[test]
fn who_names_half_a_user_or_its_halves_the_other_way_round_is_told_the_whole_name() {
    let folder = files("perm-halves");
    for (name, whole) in [("bob", "person.bob"), ("mail", "mail.n1"), ("n1.mail", "mail.n1")] {
        let ran = run(&folder, &format!("perm can-i {name} publish a.b"));
        assert_eq!(ran.status.code(), Some(2));
        let told = text(&ran.stderr);
        assert!(told.contains(&format!("did you mean {whole}?")), "{told}");
    }
}

#[test]
fn a_module_whose_manifest_is_refused_is_told_and_nobody_can_say_what_it_may() {
    let folder = files("perm-refused");
    folder.write("vault.toml", "name = 'vault'\nversion = '1'\nemits = ['o p e n']\n");
    let ran = run(&folder, "perm can-i vault.n1 publish mesh.events.vault.opened");
    assert_eq!(ran.status.code(), Some(2));
    let told = text(&ran.stderr);
    assert!(told.contains("no user vault.n1, since the manifest of vault is refused"), "{told}");
    assert!(told.contains("vault.toml:3:10: error: emits[0]"), "{told}");
    // It harms no other, who is told.
    let ran = run(&folder, "perm can-i mail.n1 publish mesh.events.mail.letter.sent");
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("left out: vault.toml:3:10"), "{}", text(&ran.stdout));

    std::fs::remove_file(folder.0.join("vault.toml")).unwrap();
    let ran = run(&folder, "perm can-i mail.n1 publish mesh.events.mail.letter.sent");
    assert!(text(&ran.stdout).contains("can't read vault.toml"), "{}", text(&ran.stdout));
}

#[test]
fn two_folders_are_compared_by_their_mesh_files() {
    let folder = files("perm-folders");
    for side in ["old", "new"] {
        for file in ["mesh.toml", "mail.toml", "vault.toml"] {
            let text = std::fs::read_to_string(folder.0.join(file)).unwrap();
            folder.write(&format!("{side}/{file}"), text);
        }
    }
    assert_eq!(code(&folder, "perm diff old new"), 0);
    let mail = std::fs::read_to_string(folder.0.join("new/mail.toml")).unwrap();
    folder.write(
        "new/mail.toml",
        mail.replace("\"letter.sent\"", "\"letter.sent\", \"letter.lost\""),
    );
    let ran = run(&folder, "perm diff old new --json");
    assert_eq!(ran.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let granted = &told["users"][0]["granted"][0];
    assert_eq!(
        (&granted["file"], &granted["field"], &granted["example"]),
        (&"new/mail.toml".into(), &"emits[1]".into(), &"mesh.events.mail.letter.lost".into())
    );
    // A folder without a mesh file is none of a mesh.
    folder.write("empty/readme.toml", "x = 1\n");
    let ran = run(&folder, "perm diff old empty");
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("no mesh file is there"), "{}", text(&ran.stderr));
}

/// `$ mesh …` in a block of the console, what comes of it, and with which code.
#[test]
fn what_the_page_shows_is_what_is_printed() {
    let folder = files("perm-page");
    std::fs::create_dir(folder.0.join("store")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.0.join("store"), closed).unwrap();
    }
    let mut runs = 0;
    for block in PAGE.split("```console\n$ mesh ").skip(1) {
        let (command, expected) = block.split("```").next().unwrap().split_once('\n').unwrap();
        let (command, code) = match command.split_once("   # exit ") {
            Some((command, code)) => (command, code.parse().unwrap()),
            None => (command, 0),
        };
        let ran = run(&folder, command);
        let printed = format!("{}{}", text(&ran.stdout), text(&ran.stderr));
        let hidden: Vec<&str> =
            printed.lines().filter(|line| !line.starts_with("sha256 ")).collect();
        assert_eq!(format!("{}\n", hidden.join("\n")), expected, "of mesh {command}:\n{printed}");
        assert_eq!(ran.status.code(), Some(code), "of mesh {command}");
        runs += 1;
    }
    assert!(runs >= 7, "{runs}");
}

#[cfg(unix)]
mod compose {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const PIN: &str =
        "--fingerprint aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    /// The page's mesh with an empty store.
    fn mesh(name: &str) -> Folder {
        let folder = files(name);
        let store = folder.0.join("store");
        fs::create_dir(&store).unwrap();
        fs::set_permissions(&store, fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    fn compose(folder: &Folder, more: &str) -> std::process::Output {
        run(folder, &format!("perm compose --store store --out bus {more}"))
    }

    fn mode(folder: &Folder, file: &str) -> u32 {
        fs::metadata(folder.0.join(file)).unwrap().permissions().mode() & 0o777
    }

    fn composed(folder: &Folder) -> String {
        fs::read_to_string(folder.0.join("bus/nats-server.conf")).unwrap()
    }

    #[test]
    fn who_has_no_secret_is_given_one_and_a_second_run_changes_nothing() {
        let folder = mesh("perm-compose");
        let ran = compose(&folder, "");
        assert_eq!(ran.status.code(), Some(2));
        let told = text(&ran.stderr);
        assert!(
            told.contains("no secret yet: builder.n1, ") && told.contains("--credentials"),
            "{told}"
        );
        assert!(!folder.0.join("bus").exists());

        let credentials = format!("--credentials credentials {PIN}");
        let ran = compose(&folder, &format!("{credentials} --json"));
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        let told: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!((&told["changed"], &told["reached"]), (&true.into(), &"no-bus".into()));
        // Two controllers', and of two nodes host, builder and modules; people are issued theirs.
        assert_eq!(told["handed"].as_array().unwrap().len(), 9, "{told}");
        let first = composed(&folder);
        assert!(!first.contains("person.ada"), "{first}");
        assert_eq!(mode(&folder, "bus/nats-server.conf"), 0o600);
        for handed in told["handed"].as_array().unwrap() {
            let file = handed["file"].as_str().unwrap();
            assert_eq!(mode(&folder, file), 0o600, "{file}");
            let document: Value =
                serde_json::from_str(&fs::read_to_string(folder.0.join(file)).unwrap()).unwrap();
            let url = document["url"].as_str().unwrap();
            let password = url.split(['@', ':']).nth(2).unwrap();
            assert!(password.len() >= 22, "{}", password.len());
            for told in [text(&ran.stdout), text(&ran.stderr), first.clone()] {
                assert!(!told.contains(password), "a secret is told");
            }
        }

        for more in ["", "--json", &credentials] {
            let ran = compose(&folder, more);
            assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
            assert!(!text(&ran.stdout).contains("credentials/"), "{}", text(&ran.stdout));
        }
        assert_eq!(composed(&folder), first);
    }

    #[test]
    fn check_says_whether_the_file_is_what_would_be_composed() {
        let folder = mesh("perm-check");
        let good = |more: &str| {
            let ran = compose(&folder, &format!("--check --json {more}"));
            let told: Value = serde_json::from_slice(&ran.stdout).unwrap();
            assert_eq!(ran.status.code(), Some(i32::from(told["good"] != true)), "{told}");
            told
        };
        assert_eq!(good("")["found"], Value::Null);
        let ran = compose(&folder, &format!("--credentials credentials {PIN}"));
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        assert_eq!(good("")["good"], true);
        let file = folder.0.join("bus/nats-server.conf");
        fs::write(&file, format!("{}# by hand\n", composed(&folder))).unwrap();
        assert_eq!(good("")["good"], false);
        compose(&folder, "");
        assert_eq!(good("")["good"], true);
        let mail = fs::read_to_string(folder.0.join("mail.toml")).unwrap();
        folder.write("mail.toml", mail.replace("\"letter.sent\"", "\"letter.lost\""));
        let told = good("");
        assert_eq!(told["good"], false);
        assert_ne!(told["found"], told["composed"]);
        // A module on one more node has no secret there.
        let mesh = fs::read_to_string(folder.0.join("mesh.toml")).unwrap();
        let wider = mesh.replace(
            "manifest = \"mail.toml\"\nnodes = [\"n1\"]",
            "manifest = \"mail.toml\"\nnodes = [\"n1\", \"n2\"]",
        );
        assert_ne!(mesh, wider);
        folder.write("mesh.toml", wider);
        assert_eq!(good("")["without_secret"], serde_json::json!(["mail.n2"]));
    }

    #[test]
    fn a_refused_manifest_exits_1_and_everybody_else_is_composed() {
        let folder = mesh("perm-compose-refused");
        compose(&folder, &format!("--credentials credentials {PIN}"));
        folder.write("vault.toml", "name = 'vault'\nversion = '1'\nemits = ['o p e n']\n");
        let ran = compose(&folder, "");
        assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
        let told = text(&ran.stdout);
        assert!(told.starts_with("not all composed: "), "{told}");
        assert!(told.contains("left out: vault.toml:3:10: error: emits[0]"), "{told}");
        let file = composed(&folder);
        assert!(file.contains("\"mail.n1\"") && !file.contains("\"vault.n1\""), "{file}");
    }

    #[test]
    fn a_file_of_another_name_is_written_whole_and_a_link_is_not_followed() {
        let folder = mesh("perm-compose-file");
        let ran = run(
            &folder,
            &format!("perm compose --store store --out own.conf --credentials c {PIN}"),
        );
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        assert_eq!(mode(&folder, "own.conf"), 0o600);
        std::os::unix::fs::symlink("own.conf", folder.0.join("link.conf")).unwrap();
        let ran = run(&folder, "perm compose --store store --out link.conf");
        assert_eq!(ran.status.code(), Some(2), "{}", text(&ran.stdout));
    }

    #[test]
    fn a_credential_that_is_there_is_left_alone_unless_it_is_to_be_replaced() {
        let folder = mesh("perm-compose-there");
        folder.write("credentials/n1.mail.json", "somebody's");
        let arguments = format!("--credentials credentials {PIN}");
        let ran = compose(&folder, &arguments);
        assert_eq!(ran.status.code(), Some(2));
        assert!(text(&ran.stderr).contains("--replace"), "{}", text(&ran.stderr));
        // Nothing was minted that nobody can have.
        assert!(
            fs::read_dir(folder.0.join("store"))
                .unwrap()
                .all(|file| { !file.unwrap().file_name().to_string_lossy().contains("mail") })
        );
        let ran = compose(&folder, &format!("{arguments} --replace"));
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    }
    #[test]
    fn rabbitmqs_definitions_are_composed_from_a_store_of_their_own() {
        let folder = mesh("perm-compose-rabbit");
        let arguments = format!(
            "--format rabbit --credentials credentials {PIN} --url amqps://bus.example/mesh"
        );
        let ran = compose(&folder, &arguments);
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        let file = folder.0.join("bus/rabbitmq-definitions.json");
        assert_eq!(mode(&folder, "bus/rabbitmq-definitions.json"), 0o600);
        let definitions: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let users = definitions["users"].as_array().unwrap().iter();
        let mut users: Vec<&str> = users.map(|user| user["name"].as_str().unwrap()).collect();
        users.sort_unstable();
        assert_eq!(
            users,
            [
                "builder.n1",
                "builder.n2",
                "host.n1",
                "host.n2",
                "n1.mail",
                "n1.vault",
                "n2.vault",
                "person.ada",
                "person.bob",
                "substrate",
            ]
        );
        let ran = compose(&folder, "--format rabbit --check");
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stdout));
        let ran = compose(&folder, "");
        assert_eq!(ran.status.code(), Some(2));
        assert!(
            text(&ran.stderr).contains("the store is another broker's"),
            "{}",
            text(&ran.stderr)
        );
    }
}
