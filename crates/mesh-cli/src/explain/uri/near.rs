//! URIs that are good and near to one that is not.

use mesh_core::mx::{MxUri, Plane, Topic, UriError, UriProblem};

const SCHEME: &str = "matrix://";
/// Each step mends one thing.
const STEPS: usize = 12;

/// What may be meant by a text that is no URI; each was read, so it is one.
pub(super) fn instead(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![text.to_owned()];
    for _ in 0..STEPS {
        let mut next = Vec::new();
        for text in left {
            match MxUri::parse(&text) {
                Ok(uri) => found.push(uri.to_string()),
                Err(error) => {
                    next.extend(mended(&text, error).into_iter().filter(|mended| *mended != text));
                }
            }
        }
        left = next;
    }
    found.dedup();
    found
}

/// Paths that are near to a text that is none.
pub(in crate::explain) fn near_paths(path: &str) -> Vec<String> {
    // A path has no escapes, and a URI reads them.
    if path.contains('%') {
        return Vec::new();
    }
    let uris = instead(&format!("{SCHEME}r/{path}"));
    let paths = uris.iter().filter_map(|uri| Some(MxUri::parse(uri).ok()?.path().to_string()));
    paths.collect()
}

/// The text without that fault, in one way or two; nothing, where nobody can tell what is meant.
fn mended(text: &str, UriError { problem, offset, .. }: UriError) -> Vec<String> {
    let (before, after) = (text.get(..offset), text.get(offset..));
    let (Some(before), Some(after)) = (before, after) else {
        return Vec::new();
    };
    let end = |of: &[char]| after.find(of).unwrap_or(after.len());
    let without = |count: usize| format!("{before}{}", after.get(count..).unwrap_or_default());
    match problem {
        UriProblem::Scheme => scheme(text).into_iter().collect(),
        UriProblem::UserInfo => {
            let rest = text.split_once('@').map_or("", |(_, rest)| rest);
            vec![format!("{SCHEME}{rest}")]
        }
        UriProblem::Port => vec![without(end(&['/', '?', '#']))],
        UriProblem::Query | UriProblem::Fragment => vec![before.to_owned()],
        UriProblem::Empty => empty(before, after).into_iter().collect(),
        UriProblem::Character(found) if found.is_whitespace() => {
            let trimmed = text.trim();
            (trimmed != text).then(|| trimmed.to_owned()).into_iter().collect()
        }
        // In the segmented form.
        UriProblem::Character('.') if after.starts_with('.') => {
            vec![format!("{before}/{}", after.get(1..).unwrap_or_default())]
        }
        UriProblem::Plane => plane(before, after),
        _ => Vec::new(),
    }
}

fn scheme(text: &str) -> Option<String> {
    let trimmed = text.trim();
    if let Ok(Topic::Internal(realm, path)) = trimmed.parse() {
        return Some(MxUri::new(&realm, path).to_string());
    }
    let rest = match trimmed.split_once("://") {
        Some((_, rest)) => rest,
        None => {
            let start = trimmed.get(..7).filter(|start| start.eq_ignore_ascii_case("matrix:"));
            trimmed.get(start.map_or(0, str::len)..)?
        }
    };
    let mended = format!("{SCHEME}{}", rest.trim_start_matches('/'));
    (mended != text).then_some(mended)
}

/// Without the separator that has nothing on one side.
fn empty(before: &str, after: &str) -> Option<String> {
    if after.starts_with(['/', '.']) {
        return Some(format!("{before}{}", after.get(1..)?));
    }
    let shorter = before.strip_suffix(['/', '.'])?;
    (after.is_empty() && shorter.len() >= SCHEME.len()).then(|| shorter.to_owned())
}

/// With a plane where none is: a word that looks like one is meant as that, else either may be.
fn plane(before: &str, after: &str) -> Vec<String> {
    let planes = [Plane::Accepts, Plane::Emits].map(Plane::as_str);
    let separator = if after.contains('/') || before.ends_with("/-/") { '/' } else { '.' };
    let (word, rest) = match after.split_once(separator) {
        Some((word, rest)) => (word, Some(rest)),
        None => (after, None),
    };
    let Some(rest) = rest else {
        return Vec::new();
    };
    let like = planes.iter().find(|plane| {
        let word = word.to_lowercase();
        strsim::damerau_levenshtein(&word, plane) <= 2
    });
    if let Some(plane) = like {
        return vec![format!("{before}{plane}{separator}{rest}")];
    }
    // `component.message`: what is where the plane should be is the component, or its last label.
    if planes.contains(&rest) || rest.contains(separator) {
        return Vec::new();
    }
    planes.map(|plane| format!("{before}{word}{separator}{plane}{separator}{rest}")).to_vec()
}
