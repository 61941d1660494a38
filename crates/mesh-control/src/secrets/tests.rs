use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use mesh_core::credential::{Credential, Fingerprint, Secret};
use mesh_core::identity::Principal;
use mesh_core::name::UserName;
use mesh_core::time::Timestamp;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const CHEAP: Method = Method::Bcrypt { cost: 4 };

fn user(name: &str) -> UserName {
    name.parse().unwrap()
}

fn endpoint() -> Endpoint {
    let pin: Fingerprint = "ab".repeat(32).parse().unwrap();
    Endpoint { url: "tls://bus.example".parse().unwrap(), fingerprints: pin.into() }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A folder of mode 700 in a place that is gone at the end.
fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("store");
    (place, folder)
}

fn document() -> Secret {
    Secret::new(r#"{"url": "tls://u:planted-s3cr3t@h"}"#)
}

#[test]
fn a_store_keeps_what_proves_a_secret_and_never_the_secret() {
    let (_place, folder) = place();
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    assert_eq!(mode(&folder), 0o700);
    for (name, method) in [("mail.n1", CHEAP), ("db.n1", Method::NKey), ("n1.bus", Method::Rabbit)]
    {
        let minted = store.mint(&user(name), method, NOW).unwrap();
        let file = folder.join(format!("{name}.json"));
        assert_eq!(mode(&file), 0o600, "{name}");
        let text = fs::read_to_string(&file).unwrap();
        let secret = minted.login().password().expose();
        assert!(!text.contains(secret), "{name}");
        assert!((32..=72).contains(&secret.len()), "{name}");
        assert!(secret.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')));
        let kept = store.kept(name).unwrap();
        assert!(method.made(kept) && text.contains(kept.as_str()), "{name}");
        match kept {
            Kept::Bcrypt(hash) => {
                assert!(bcrypt::verify(secret, hash).unwrap());
                assert_eq!(kept.cost(), Some(4));
                assert_eq!(minted.login().user(), name);
            }
            Kept::NKey(public) => {
                assert_eq!(nkeys::KeyPair::from_seed(secret).unwrap().public_key(), *public);
                assert_eq!(minted.login().user(), public);
            }
            Kept::Rabbit(_) => assert_eq!(minted.login().user(), name),
        }
    }
    assert_eq!(mode(&folder.join(".lock")), 0o600);
}

#[test]
fn rabbits_hash_is_salt_and_sha256_of_salt_and_password() {
    use base64::Engine as _;
    use sha2::Digest as _;
    let (_place, folder) = place();
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    let minted = store.mint(&user("n1.mail"), Method::Rabbit, NOW).unwrap();
    let kept = base64::prelude::BASE64_STANDARD.decode(store.kept("n1.mail").unwrap().as_str());
    let kept = kept.unwrap();
    let hash = sha2::Sha256::new()
        .chain_update(&kept[..4])
        .chain_update(minted.login().password().expose())
        .finalize();
    assert_eq!(&kept[4..], &hash[..]);
}

#[test]
fn what_is_kept_stays_as_it_is_until_it_is_rotated() {
    let (_place, folder) = place();
    let mail = user("mail.n1");
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    let first = store.mint(&mail, CHEAP, NOW).unwrap();
    store.handed_over(&mail, &[]).unwrap();
    drop(store);

    let mut store = SecretStore::open(&folder, "a test").unwrap();
    let kept = store.record("mail.n1").unwrap().clone();
    assert_eq!((kept.made, kept.state), (NOW, State::Live));
    assert!(matches!(store.mint(&mail, CHEAP, NOW), Err(StoreError::Exists { .. })));
    assert!(store.ensure([&mail], Method::NKey, NOW).unwrap().is_empty());
    assert_eq!(store.record("mail.n1"), Some(&kept));
    assert_eq!(store.old(CHEAP).count(), 0);
    assert_eq!(store.old(Method::Bcrypt { cost: 5 }).collect::<Vec<_>>(), [&mail]);
    assert_eq!(store.old(Method::NKey).collect::<Vec<_>>(), [&mail]);

    let second = store.rotate(&mail, Method::NKey, NOW).unwrap();
    assert_ne!(first.login(), second.login());
    assert_eq!(store.old(Method::NKey).count(), 0);
}

#[test]
fn what_nobody_got_is_minted_again_and_what_somebody_got_is_not() {
    let (_place, folder) = place();
    let (a, b) = (user("a.n1"), user("b.n1"));
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    let first = store.ensure([&a, &b], CHEAP, NOW).unwrap();
    assert_eq!(first.iter().map(Minted::user).collect::<Vec<_>>(), [&a, &b]);
    store.handed_over(&a, &[]).unwrap();
    drop(store);
    let mut store = SecretStore::open(&folder, "a test").unwrap();
    let second = store.ensure([&a, &b], CHEAP, NOW).unwrap();
    assert_eq!(second.iter().map(Minted::user).collect::<Vec<_>>(), [&b]);
    assert_ne!(first[1].login(), second[0].login());
}

#[test]
fn a_revoked_user_has_nothing_kept_until_it_is_rotated() {
    let (_place, folder) = place();
    let ada = user("person.ada");
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    assert!(matches!(store.revoke(&ada), Err(StoreError::Unknown { .. })));
    store.mint(&ada, CHEAP, NOW).unwrap();
    assert!(store.revoke(&ada).unwrap());
    assert!(!store.revoke(&ada).unwrap());
    drop(store);
    let mut store = SecretStore::open(&folder, "a test").unwrap();
    assert_eq!(store.kept("person.ada"), None);
    assert!(matches!(store.mint(&ada, CHEAP, NOW), Err(StoreError::Revoked { .. })));
    assert!(matches!(store.handed_over(&ada, &[]), Err(StoreError::Revoked { .. })));
    assert!(store.ensure([&ada], CHEAP, NOW).unwrap().is_empty());
    assert_eq!(store.old(Method::NKey).count(), 0);
    store.rotate(&ada, CHEAP, NOW).unwrap();
    assert!(store.kept("person.ada").is_some());
}

#[test]
fn a_second_process_is_told_who_holds_the_store() {
    let (_place, folder) = place();
    let store = SecretStore::create(&folder, "mesh operator issue ada").unwrap();
    let refused = SecretStore::open(&folder, "another").unwrap_err();
    let StoreError::Held { holder, .. } = &refused else { panic!("{refused}") };
    assert_eq!(*holder, format!("process {} (mesh operator issue ada)", std::process::id()));
    drop(store);
    SecretStore::open(&folder, "another").unwrap();
}

#[test]
fn a_folder_that_is_open_to_others_absent_or_a_link_is_refused() {
    let (place, folder) = place();
    let fault = |path: &Path| match SecretStore::open(path, "a test").unwrap_err() {
        StoreError::Folder { fault, .. } => fault,
        other => panic!("{other}"),
    };
    assert!(matches!(fault(&folder), FolderFault::Absent));
    drop(SecretStore::create(&folder, "a test").unwrap());
    for open in [0o750, 0o701, 0o777] {
        fs::set_permissions(&folder, Permissions::from_mode(open)).unwrap();
        assert!(matches!(fault(&folder), FolderFault::Open { mode } if mode == open));
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let link = place.path().join("link");
    symlink(&folder, &link).unwrap();
    assert!(matches!(fault(&link), FolderFault::NotAFolder));
    assert!(matches!(fault(&folder.join(".lock")), FolderFault::NotAFolder));
    let there = SecretStore::create(&folder, "a test").unwrap_err();
    assert!(matches!(there, StoreError::Folder { fault: FolderFault::Exists, .. }));
}

#[test]
fn half_a_file_or_another_ones_is_told_and_nothing_is_minted_in_its_place() {
    let (place, folder) = place();
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    for name in ["half.n1", "other.n1", "open.n1", "linked.n1", "odd.n1", "good.n1"] {
        store.mint(&user(name), CHEAP, NOW).unwrap();
    }
    drop(store);
    let file = |name: &str| folder.join(format!("{name}.json"));
    let half = fs::read(file("half.n1")).unwrap();
    fs::write(file("half.n1"), &half[..half.len() - 1]).unwrap();
    fs::copy(file("good.n1"), file("other.n1")).unwrap();
    fs::set_permissions(file("open.n1"), Permissions::from_mode(0o640)).unwrap();
    fs::rename(file("linked.n1"), place.path().join("elsewhere")).unwrap();
    symlink(place.path().join("elsewhere"), file("linked.n1")).unwrap();
    let odd = fs::read_to_string(file("odd.n1")).unwrap();
    fs::write(file("odd.n1"), odd.replace("$2b$04$", "planted-s3cr3t")).unwrap();
    fs::write(folder.join("notes.txt"), "planted-s3cr3t").unwrap();
    fs::create_dir(folder.join("folder.json")).unwrap();
    fs::write(folder.join(".half.n1.json.abcdef.tmp"), "").unwrap();

    let mut store = SecretStore::open(&folder, "a test").unwrap();
    let told: Vec<_> = store.damaged().iter().map(|damaged| damaged.user.clone()).collect();
    let users = ["folder", "half.n1", "linked.n1", "", "odd.n1", "open.n1", "other.n1"];
    let users = users.map(|name| (!name.is_empty()).then(|| user(name)));
    assert_eq!(told, users);
    assert!(!format!("{:?}", store.damaged()).contains("planted"));
    assert_eq!(store.records().map(|(user, _)| user.as_str()).collect::<Vec<_>>(), ["good.n1"]);
    assert!(!folder.join(".half.n1.json.abcdef.tmp").exists());
    for name in ["half.n1", "linked.n1", "odd.n1", "open.n1", "other.n1"] {
        let before = fs::read(file(name)).unwrap();
        let user = user(name);
        let refused = [
            store.mint(&user, CHEAP, NOW).unwrap_err(),
            store.rotate(&user, CHEAP, NOW).unwrap_err(),
            store.ensure([&user], CHEAP, NOW).unwrap_err(),
            store.revoke(&user).unwrap_err(),
        ];
        for refused in refused {
            assert!(matches!(refused, StoreError::Damaged { .. }), "{name}: {refused}");
            assert!(!format!("{refused} {refused:?}").contains("planted"));
        }
        assert_eq!(fs::read(file(name)).unwrap(), before);
    }
}

#[test]
fn no_users_name_leads_out_of_the_folder() {
    for name in ["", ".", "..", "../x", "a/b", "a.b.c", ".lock", "a.", "A", "a\0", "é", "a_b"] {
        assert!(UserName::new(name).is_err(), "{name:?}");
    }
    for name in ["controller", "controller-edge", "mail.n1", "person.ada", "enrol.t0k3n"] {
        assert_eq!(user(name).as_str(), name);
    }
    let longest = format!("{0}.{0}", "a".repeat(63));
    let (_place, folder) = place();
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    store.mint(&user(&longest), Method::NKey, NOW).unwrap();
    assert_eq!(store.records().len(), 1);
}

#[test]
fn a_cost_that_bcrypt_has_not_is_refused_and_nothing_is_kept() {
    let (_place, folder) = place();
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    for cost in [0, 3, 32, u32::MAX] {
        let refused = store.mint(&user("a.n1"), Method::Bcrypt { cost }, NOW).unwrap_err();
        assert!(matches!(refused, StoreError::Mint(MintError::Cost(told)) if told == cost));
    }
    assert_eq!(store.records().len(), 0);
}

#[test]
fn a_document_is_opened_with_each_key_that_it_was_sealed_to_and_no_other() {
    let keys = [Identity::generate(), Identity::generate()];
    let sealed = seal(&document(), &keys.clone().map(|key| key.recipient())).unwrap();
    assert!(sealed.is_ascii() && !sealed.contains("planted"));
    for key in &keys {
        let again = Identity::parse(key.to_file().expose()).unwrap();
        assert_eq!(open(format!("\n{sealed}").as_bytes(), &again).unwrap(), document());
    }
    let other = open(sealed.as_bytes(), &Identity::generate()).unwrap_err();
    assert!(matches!(other, SealError::OtherKey), "{other}");
    for damaged in ["", "hello", &sealed[..sealed.len() / 2], &sealed.replace('A', "B")] {
        let refused = open(damaged.as_bytes(), &keys[0]).unwrap_err();
        assert!(matches!(refused, SealError::Unreadable | SealError::OtherKey), "{refused}");
    }
    assert!(matches!(seal(&document(), &[]).unwrap_err(), SealError::Nobody));
    let long = Secret::new("x".repeat(mesh_core::credential::MAX_DOCUMENT_BYTES + 1));
    let sealed = seal(&long, &[keys[0].recipient()]).unwrap();
    let refused = open(sealed.as_bytes(), &keys[0]).unwrap_err();
    assert!(matches!(refused, SealError::TooLarge { .. }), "{refused}");
}

#[test]
fn keys_are_read_as_age_writes_them_and_a_secret_one_is_not_repeated() {
    let key = Identity::generate();
    let file = key.to_file();
    let secret = file.expose().lines().last().unwrap();
    assert!(secret.starts_with("AGE-SECRET-KEY-1"));
    let public = key.recipient().to_string();
    assert_eq!(public.parse::<Recipient>().unwrap(), key.recipient());
    let read = Identity::parse(&format!("# created: today\r\n# public key: x\r\n\r\n{secret}\r\n"));
    assert_eq!(read.unwrap().recipient(), key.recipient());
    assert!(format!("{key:?}").contains(&public));
    for (text, error) in [
        ("", KeyError::Identity),
        ("# nothing", KeyError::Identity),
        (&*public, KeyError::Line { line: 1 }),
        (&*format!("{secret}\n{secret}"), KeyError::Several { line: 2 }),
        (&*format!("\n{secret}x"), KeyError::Line { line: 2 }),
    ] {
        let refused = Identity::parse(text).unwrap_err();
        assert_eq!(refused, error);
        assert!(!format!("{refused} {refused:?}").contains(&secret[16..]));
    }
    assert_eq!(secret.parse::<Recipient>().unwrap_err(), KeyError::Secret);
    assert_eq!(secret.to_lowercase().parse::<Recipient>().unwrap_err(), KeyError::Secret);
    for text in ["", "age1", "ssh-ed25519 AAAA", &public[..30], &format!("{public}q")] {
        assert_eq!(text.parse::<Recipient>().unwrap_err(), KeyError::Recipient, "{text}");
    }
}

#[test]
fn a_document_is_written_for_its_owner_alone_and_takes_nothings_place_unasked() {
    let (place, _) = place();
    let path = place.path().join("ada.json");
    let write = |text: &str, overwrite| write_document(&path, &Secret::new(text), overwrite);
    assert_eq!(write("one", Overwrite::Never).unwrap(), Wrote::New);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(write("one", Overwrite::Never).unwrap(), Wrote::Same);
    let refused = write("two", Overwrite::Never).unwrap_err();
    assert!(matches!(refused, DocumentError::Exists { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    assert_eq!(write("two", Overwrite::Replace).unwrap(), Wrote::Replaced);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(write("two", Overwrite::Never).unwrap_err(), DocumentError::Exists { .. }));
    assert_eq!(write("two", Overwrite::Replace).unwrap(), Wrote::Replaced);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_document_follows_no_link_and_takes_no_folders_place() {
    let (place, _) = place();
    let (target, link) = (place.path().join("target"), place.path().join("link"));
    let dangling = place.path().join("dangling");
    fs::write(&target, "mine").unwrap();
    symlink(&target, &link).unwrap();
    symlink(place.path().join("absent"), &dangling).unwrap();
    for path in [&link, &dangling, place.path()] {
        for overwrite in [Overwrite::Never, Overwrite::Replace] {
            let refused = write_document(path, &document(), overwrite).unwrap_err();
            assert!(matches!(refused, DocumentError::NotAFile { .. }), "{refused}");
        }
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    assert!(!place.path().join("absent").exists());
    let nameless = write_document(Path::new("/"), &document(), Overwrite::Never).unwrap_err();
    assert!(matches!(nameless, DocumentError::NoName { .. }));
    let absent = place.path().join("absent/ada.json");
    let absent = write_document(&absent, &document(), Overwrite::Never).unwrap_err();
    assert!(matches!(absent, DocumentError::System { .. }));
}

#[test]
fn a_minted_secret_becomes_the_credential_of_its_principal() {
    let (_place, folder) = place();
    let mut store = SecretStore::create(&folder, "a test").unwrap();
    let mail = Principal::Module { node: "n1".parse().unwrap(), module: "mail".parse().unwrap() };
    for method in [CHEAP, Method::NKey] {
        let minted = store.rotate(&user("mail.n1"), method, NOW).unwrap();
        let document = minted.credential(&mail, &endpoint()).unwrap().to_document().unwrap();
        let read = Credential::parse(document.expose()).unwrap();
        assert_eq!(read.principal(), &mail);
        assert_eq!(read.url().server().unwrap().login(), Some(minted.login()));
    }
}

mod nothing_shows_a_secret {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// All that can be printed of all that has a secret in it, or was made of a text with one.
        #[test]
        fn whatever_is_printed(planted in "[A-Za-z0-9]{24}", noise in "[ -~]{0,40}") {
            let (place, folder) = place();
            let mut shown = String::new();
            let mut show = |text: String| shown.push_str(&text);
            let mut store = SecretStore::create(&folder, "a test").unwrap();
            let mut secrets = vec![planted.clone()];
            for (name, method) in [("a.n1", CHEAP), ("b.n1", Method::NKey), ("c.n1", Method::Rabbit)] {
                let minted = store.mint(&user(name), method, NOW).unwrap();
                secrets.push(minted.login().password().expose().to_owned());
                show(format!("{minted:?} {:?} {:?}", minted.login(), store.record(name)));
                show(format!("{:?}", store.mint(&user(name), method, NOW)));
                let principal = Principal::Host { node: "n1".parse().unwrap() };
                let credential = minted.credential(&principal, &endpoint()).unwrap();
                show(format!("{credential:?} {:?}", credential.to_document()));
            }
            let key = Identity::generate();
            let file = key.to_file();
            secrets.push(file.expose().lines().last().unwrap().to_owned());
            show(format!("{key:?} {:?} {file:?}", key.recipient()));
            let text = format!("{noise}{planted}");
            for refused in [text.parse::<Recipient>().err(), Identity::parse(&text).err()] {
                show(format!("{refused:?} {}", refused.unwrap()));
            }
            let refused = open(text.as_bytes(), &key).unwrap_err();
            show(format!("{refused} {refused:?}"));
            let path = place.path().join("document");
            let document = Secret::new(text.as_str());
            show(format!("{:?}", write_document(&path, &document, Overwrite::Never)));
            let other = write_document(&path, &Secret::new("x"), Overwrite::Never).unwrap_err();
            show(format!("{other} {other:?}"));
            drop(store);
            fs::write(folder.join("d.n1.json"), format!("{text}\n")).unwrap();
            let store = SecretStore::open(&folder, "a test").unwrap();
            show(format!("{store:?}"));
            let texts = fs::read_dir(&folder).unwrap().map(|entry| {
                let path = entry.unwrap().path();
                if path.ends_with("d.n1.json") { String::new() } else { fs::read_to_string(path).unwrap() }
            });
            let texts: Vec<String> = texts.collect();
            for secret in &secrets {
                prop_assert!(!shown.contains(secret.as_str()));
                prop_assert!(texts.iter().all(|text| !text.contains(secret.as_str())));
            }
        }
    }
}
