use mesh_core::mx::{MxPath, MxUri, Plane};
use proptest::prelude::*;
use proptest::sample::select;

use super::realm_name;

/// A label of a path: what a URI leaves as it is, what it must escape, and any letters.
fn label() -> impl Strategy<Value = String> {
    let odd = &["-", "a?b", "@", "x:1", "é", "😀", "~", "100&", "accepts", "_reply"][..];
    prop_oneof![6 => "[a-zA-Z0-9_-]{1,8}", 2 => select(odd).prop_map(str::to_owned)]
}

fn mount() -> impl Strategy<Value = String> {
    let odd = select(&["-", "v1.2", ".hidden", "end.", "a-"][..]).prop_map(str::to_owned);
    prop_oneof![3 => label(), 1 => odd]
}

/// Either side of a component.
pub fn plane() -> impl Strategy<Value = Plane> {
    select(&[Plane::Accepts, Plane::Emits][..])
}

fn path_on(plane: impl Strategy<Value = Plane>) -> impl Strategy<Value = MxPath<'static>> {
    let mounts = prop::collection::vec(mount(), 0..=3);
    let component = prop::collection::vec(label(), 1..=3);
    let parts = (mounts, component, plane, label());
    parts.prop_filter_map("never", |(mut mounts, component, plane, message)| {
        let component = component.join(".");
        mounts.push(format!("{component}.{plane}.{message}"));
        MxPath::new(mounts.join("/")).ok()
    })
}

/// Any path: up to three mounts, one to three labels of a component.
pub fn mx_path() -> impl Strategy<Value = MxPath<'static>> {
    path_on(plane()).boxed()
}

/// Any path of an event.
pub fn emits_path() -> impl Strategy<Value = MxPath<'static>> {
    path_on(Just(Plane::Emits)).boxed()
}

/// Any path of a command.
pub fn accepts_path() -> impl Strategy<Value = MxPath<'static>> {
    path_on(Just(Plane::Accepts)).boxed()
}

/// One of three paths, two of them of one component.
pub fn few_paths() -> impl Strategy<Value = MxPath<'static>> {
    select(&["shop/stock.accepts.count", "shop/stock.emits.sold", "a.accepts.b"][..])
        .prop_filter_map("never", |text| MxPath::new(text).ok())
}

/// Any URI.
pub fn mx_uri() -> impl Strategy<Value = MxUri<'static>> {
    (realm_name(), mx_path()).prop_map(|(realm, path)| MxUri::new(&realm, path).into_owned())
}

/// A URI and its two forms as they are printed: compact and segmented.
pub fn mx_uri_forms() -> impl Strategy<Value = (MxUri<'static>, String, String)> {
    mx_uri().prop_map(|uri| {
        let (compact, segmented) = (uri.to_string(), uri.segmented().to_string());
        (uri, compact, segmented)
    })
}

/// A URI and some text that means it: of either form, the scheme in any case, escaped where it has
/// to be and wherever else, in hex digits of either case.
pub fn mx_uri_spelt() -> impl Strategy<Value = (MxUri<'static>, String)> {
    let dice = prop::collection::vec(any::<(u8, bool)>(), 64);
    (mx_uri(), any::<bool>(), dice).prop_map(|(uri, segmented, dice)| {
        let mut dice = dice.into_iter().cycle();
        let mut roll = |sides| {
            let (die, coin) = dice.next().unwrap_or_default();
            (die % sides == 0, coin)
        };
        let text = spelt(&uri, segmented, &mut roll);
        (uri, text)
    })
}

/// Whether one of so many sides came up, and the toss of a coin.
type Roll<'r> = &'r mut dyn FnMut(u8) -> (bool, bool);

fn spelt(uri: &MxUri<'_>, segmented: bool, roll: Roll<'_>) -> String {
    let scheme = "matrix".chars().map(|c| match roll(3) {
        (true, _) => c.to_ascii_uppercase(),
        (false, _) => c,
    });
    let mut text: String = scheme.collect();
    text.push_str("://");
    escape(&mut text, uri.realm().as_str(), roll);
    let path = uri.path();
    for mount in path.mounts() {
        text.push('/');
        match mount {
            "-" => text.push_str("%2d"),
            mount => escape(&mut text, mount, roll),
        }
    }
    text.push_str(if segmented { "/-/" } else { "/" });
    let labels = path.component().split('.').chain([path.plane().as_str(), path.message()]);
    for (index, label) in labels.enumerate() {
        if index > 0 {
            text.push(if segmented { '/' } else { '.' });
        }
        escape(&mut text, label, roll);
    }
    text
}

/// What RFC 3986 keeps unreserved may be escaped, everything else is; dots of names stay.
fn escape(text: &mut String, part: &str, roll: Roll<'_>) {
    for byte in part.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let (escape, lower) = roll(8);
        match (plain && !escape, lower) {
            (true, _) => text.push(byte.into()),
            (false, true) => text.push_str(&format!("%{byte:02x}")),
            (false, false) => text.push_str(&format!("%{byte:02X}")),
        }
    }
}
