use mesh_core::name::RealmName;

/// Where a realm says what it is: `https://<realm>/.well-known/mx`, if its name is one of DNS as this program
/// would write it.
///
/// Lower case alone: realms are told apart by case and hosts are not, so `Acme.com` and `acme.com` would share
/// a place. Two labels at least, the last with a letter: no address is meant, and no host of the local network.
pub(super) fn well_known(realm: &RealmName) -> Option<String> {
    let name = realm.as_str();
    let labels: Vec<&str> = name.split('.').collect();
    let fits = name.len() <= 253 && labels.len() >= 2 && labels.iter().all(|label| is_label(label));
    let last = labels.last()?;
    let named = last.bytes().any(|byte| byte.is_ascii_lowercase());
    (fits && named).then(|| format!("https://{name}/.well-known/mx"))
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=63).contains(&label.len())
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}
