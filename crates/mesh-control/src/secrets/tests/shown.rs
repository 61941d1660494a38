//! Nothing shows a secret.

use std::fs;

use mesh_core::identity::Principal;
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
