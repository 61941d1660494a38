//! What is kept, and what is left alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::*;

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
