use std::collections::HashSet;

use super::Filter;

/// Leaves out every filter that another one of the set contains, repeats too; what remains stands
/// for exactly the same subjects, in the order given (protocol §2).
///
/// nats-server refuses a consumer whose filters hold one inside another (10138). Filters that only
/// share some subjects remain: a consumer may have those, a stream's own subjects may not; see
/// [`overlaps`].
///
/// ```
/// use mesh_core::subject::{Filter, normalise};
///
/// let filters = ["a.b", "a.*", "a.*.c", "a.*"].map(|text| Filter::new(text).unwrap());
/// let kept = normalise(filters);
/// assert_eq!(kept, ["a.*", "a.*.c"].map(|text| Filter::new(text).unwrap()));
/// ```
#[must_use]
pub fn normalise(filters: impl IntoIterator<Item = Filter>) -> Vec<Filter> {
    let mut seen = HashSet::new();
    let mut kept: Vec<Filter> =
        filters.into_iter().filter(|filter| seen.insert(filter.clone())).collect();
    // Two different filters never contain each other, and only a wildcard contains another.
    let wide: Vec<Filter> = kept.iter().filter(|f| f.has_wildcard()).cloned().collect();
    kept.retain(|filter| !wide.iter().any(|w| w != filter && w.contains(filter)));
    kept
}

/// The pairs of a set's filters that share a subject, in order: what is left to refuse after
/// [`normalise`] where filters must be disjoint, as a stream's subjects must.
///
/// No set of filters says "these but not those", so such a pair can't be normalised away.
///
/// ```
/// use mesh_core::subject::{Filter, overlaps};
///
/// let filters = ["a.*", "*.b", "c"].map(|text| Filter::new(text).unwrap());
/// let pairs: Vec<_> = overlaps(&filters).collect();
/// assert_eq!(pairs, [(&filters[0], &filters[1])]);
/// ```
pub fn overlaps(filters: &[Filter]) -> impl Iterator<Item = (&Filter, &Filter)> {
    filters.iter().enumerate().flat_map(|(at, one)| {
        filters[at + 1..]
            .iter()
            .filter(move |other| one.overlaps(other))
            .map(move |other| (one, other))
    })
}
