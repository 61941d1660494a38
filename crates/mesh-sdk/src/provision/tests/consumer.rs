use std::fs;
use std::path::Path;
use std::process::Command;

use mesh_core::credential::Secret;
use mesh_core::provision::{Handover, MAX_HANDOVER_BYTES};
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Account {
    user: String,
    password: Secret,
    limit: u32,
}

fn handover(to: &ProvisionKey, credential: &Value) -> Handover {
    let text = json!({ "credential": credential }).to_string();
    let promised: Vec<&String> = credential.as_object().unwrap().keys().collect();
    Handover::new(to.clone(), Granted::decode(text.as_bytes(), &promised).unwrap())
}

fn good() -> Value {
    json!({ "user": "u", "password": SECRET, "limit": 5 })
}

/// What `mail` reads in a folder of its own.
async fn provisions(folder: &Path) -> Provisions {
    Provisions::in_folder(&Bed::new().await.broker("mail"), folder).unwrap()
}

#[tokio::test]
async fn a_credential_is_read_as_it_was_granted_and_as_it_is_now() {
    let folder = tempfile::tempdir().unwrap();
    let (mail, mine) = (provisions(folder.path()).await, key("account", "mail"));
    let none = mail.read::<Account, _>("account").unwrap_err();
    assert!(matches!(none, RequiredError::NotGranted { .. }), "{none:?}");
    for limit in [5, 6] {
        let granted = json!({ "user": "u", "password": SECRET, "limit": limit });
        write(folder.path(), &handover(&mine, &granted)).unwrap();
        let account: Account = mail.read("account").unwrap();
        assert_eq!((&*account.user, account.password.expose()), ("u", SECRET));
        assert_eq!(account.limit, limit);
        assert!(!format!("{account:?} {mail:?}").contains(SECRET));
    }
    let exact = br#"{"provision":"account","consumer":{"node":"n1","module":"mail"},"more":1,
        "credential":{"limit":1.50e3}}"#;
    fs::write(folder.path().join("account.json"), exact).unwrap();
    let granted = mail.granted("account").unwrap();
    assert_eq!(granted.field("limit").unwrap().as_str(), "1.50e3");
    for _ in 0..2 {
        remove(folder.path(), &mine.provision).unwrap();
        let none = mail.granted("account").unwrap_err();
        assert!(matches!(none, RequiredError::NotGranted { .. }), "{none:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_is_not_required_or_not_ones_own_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let mail = provisions(folder.path()).await;
    let refused = |provision: &str| mail.granted(provision).unwrap_err();
    assert!(matches!(refused("vault"), RequiredError::NotRequired { .. }));
    assert!(matches!(refused("../account"), RequiredError::Name(_)));
    let file = folder.path().join("account.json");
    for another in [key("account", "audit"), key("box", "mail")] {
        let text = handover(&another, &good()).encode();
        fs::write(&file, text.as_bytes()).unwrap();
        let error = refused("account");
        assert!(matches!(&error, RequiredError::Another { key, .. } if *key == another), "{error}");
        assert!(!format!("{error} {error:?}").contains(SECRET));
    }
    fs::write(&file, format!(r#"{{"credential": "{SECRET}", "credential": 1}}"#)).unwrap();
    let error = refused("account");
    assert!(matches!(error, RequiredError::Document { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains(SECRET));
    fs::write(&file, vec![b' '; MAX_HANDOVER_BYTES + 1]).unwrap();
    assert!(matches!(refused("account"), RequiredError::TooLarge { .. }));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(refused("account"), RequiredError::Unreadable { .. }));
}

#[tokio::test]
async fn a_credential_of_another_shape_names_the_field_and_tells_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let (mail, mine) = (provisions(folder.path()).await, key("account", "mail"));
    for (credential, why) in [
        (json!({ "user": "u", "password": SECRET }), "it has no field limit"),
        (
            json!({ "user": "u", "password": SECRET, "limit": SECRET }),
            "the field limit is not of the type that is expected",
        ),
        (
            json!({ "user": "u", "password": SECRET, "limit": 5, "url": SECRET }),
            "nothing is expected of the field url",
        ),
    ] {
        write(folder.path(), &handover(&mine, &credential)).unwrap();
        let error = mail.read::<Account, _>("account").unwrap_err();
        assert_eq!(error.to_string(), format!("the credential of account: {why}"));
        assert!(!format!("{error:?}").contains(SECRET));
    }
    write(folder.path(), &handover(&mine, &good())).unwrap();
    let error = mail.read::<u32, _>("account").unwrap_err();
    assert_eq!(error.to_string(), "the credential of account: it is not what is expected");
    #[derive(Deserialize)]
    struct Wrapped(Option<BTreeMap<String, Value>>);
    let Wrapped(fields) = mail.read("account").unwrap();
    assert_eq!(json!(fields.unwrap()), good());
}

#[cfg(unix)]
#[tokio::test]
async fn its_owner_alone_may_read_it_and_what_was_left_half_written_is_no_hindrance() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join(".account.json.new");
    fs::write(&left, "{").unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o666)).unwrap();
    write(folder.path(), &handover(&key("account", "mail"), &good())).unwrap();
    let mode = fs::metadata(folder.path().join("account.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn whoever_reads_while_it_is_replaced_finds_the_old_or_the_new() {
    let folder = tempfile::tempdir().unwrap();
    let (mail, mine) = (provisions(folder.path()).await, key("account", "mail"));
    let long = "x".repeat(20_000);
    let credential = |limit: u32| json!({ "user": long, "password": SECRET, "limit": limit });
    write(folder.path(), &handover(&mine, &credential(0))).unwrap();
    let replacing = std::thread::spawn({
        let folder = folder.path().to_owned();
        let all: Vec<Handover> =
            (1..=50).map(|limit| handover(&mine, &credential(limit))).collect();
        move || all.iter().for_each(|handover| write(&folder, handover).unwrap())
    });
    let mut last = 0;
    loop {
        let done = replacing.is_finished();
        let account: Account = mail.read("account").unwrap();
        assert!(account.limit >= last && account.user == long);
        last = account.limit;
        if done {
            break;
        }
    }
    replacing.join().unwrap();
    assert_eq!(last, 50);
}

#[tokio::test]
async fn the_folder_is_the_one_that_the_environment_names() {
    const TEST: &str =
        "provision::tests::consumer::the_folder_is_the_one_that_the_environment_names";
    let bed = Bed::new().await;
    let of_controller =
        Broker::builder(bed.mesh.controller().clone()).build_only::<Asking>().unwrap();
    if std::env::var_os(PROVISIONS_VARIABLE).is_some_and(|folder| !folder.is_empty()) {
        let mail = Provisions::from_env(&bed.broker("mail")).unwrap();
        assert_eq!(mail.read::<Account, _>("account").unwrap().limit, 5);
        let error = Provisions::from_env(&of_controller).unwrap_err();
        assert!(matches!(error, NoProvisions::NotAModule { .. }), "{error}");
        return;
    }
    assert_eq!(Provisions::from_env(&bed.broker("mail")).unwrap_err(), NoProvisions::NoFolder);
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &handover(&key("account", "mail"), &good())).unwrap();
    let run = |value: &Path| {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", TEST]).env(PROVISIONS_VARIABLE, value).output().unwrap()
    };
    let ran = run(folder.path());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_in_a_credentials_place_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let mail = provisions(folder.path()).await;
    let made = Command::new("mkfifo").arg(folder.path().join("account.json")).status().unwrap();
    assert!(made.success());
    let reading = tokio::task::spawn_blocking(move || mail.granted("account").unwrap_err());
    let error = match tokio::time::timeout(Duration::from_secs(30), reading).await {
        Ok(error) => error.unwrap(),
        // The runtime would wait for who reads.
        Err(_) => std::process::abort(),
    };
    assert!(matches!(error, RequiredError::Unreadable { .. }), "{error}");
}

#[tokio::test]
async fn what_is_too_long_to_be_read_takes_nothings_place() {
    let folder = tempfile::tempdir().unwrap();
    let (mail, mine) = (provisions(folder.path()).await, key("account", "mail"));
    write(folder.path(), &handover(&mine, &good())).unwrap();
    let long = json!({ "user": "x".repeat(MAX_HANDOVER_BYTES) });
    let error = write(folder.path(), &handover(&mine, &long)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
    assert_eq!(mail.read::<Account, _>("account").unwrap().limit, 5);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn what_was_left_half_written_goes_with_the_credential_that_is_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let mine = key("account", "mail");
    write(folder.path(), &handover(&mine, &good())).unwrap();
    fs::write(folder.path().join(".account.json.new"), SECRET).unwrap();
    remove(folder.path(), &mine.provision).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
