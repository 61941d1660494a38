//! Sealed and opened, written and left alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use mesh_core::credential::Credential;
use mesh_core::identity::Principal;

use super::*;

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
    may_write(&path, Overwrite::Never).unwrap();
    assert_eq!(write("one", Overwrite::Never).unwrap(), Wrote::New);
    assert!(matches!(may_write(&path, Overwrite::Never), Err(DocumentError::Exists { .. })));
    may_write(&path, Overwrite::Replace).unwrap();
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
    let absent = place.path().join("absent/ada.json");
    assert!(matches!(may_write(&absent, Overwrite::Never), Err(DocumentError::System { .. })));
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
