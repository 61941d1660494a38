//! Keys that realms publish, end to end.
#![cfg(feature = "security")]

use axum::routing::get;
use mesh_core::json::RawJson;

use super::*;
use crate::security::{Algorithm, DiscoveredKeys, Generated, KeySource, KeysUnavailable, generate};

const SECOND: Duration = Duration::from_secs(1);

fn jwks(keys: &[&Generated]) -> RawJson<'static> {
    let keys: Vec<_> = keys.iter().map(|key| key.jwk()).collect();
    RawJson::new(format!(r#"{{"keys":[{}]}}"#, keys.join(","))).unwrap()
}

async fn ids(
    source: &impl KeySource,
    freshness: Freshness,
) -> Result<Vec<String>, KeysUnavailable> {
    let keys = source.keys(&realm("acme.example"), freshness).await?;
    Ok(keys.ids().map(ToOwned::to_owned).collect())
}

#[tokio::test]
async fn keys_in_the_document_are_found_and_rotated() {
    let world = World::new();
    let [old, new] = [(); 2].map(|()| generate(Algorithm::EdDsa).unwrap());
    let published = Published::new(&acme().with_jwks(&jwks(&[&old])));
    let server = world.serve(routes(published.clone(), None, &RoutesOptions::default())).await;
    let source = DiscoveredKeys::new(world.acme(&server));
    assert_eq!(ids(&source, Freshness::Kept).await.unwrap(), [old.kid()]);

    published.replace(&acme().with_jwks(&jwks(&[&old, &new])));
    // Asked a moment ago: a stranger can't make it ask again and again.
    assert_eq!(ids(&source, Freshness::Anew).await.unwrap(), [old.kid()]);
    world.clock.advance(30 * SECOND).await;
    assert_eq!(ids(&source, Freshness::Kept).await.unwrap(), [old.kid()]);
    assert_eq!(ids(&source, Freshness::Anew).await.unwrap(), [old.kid(), new.kid()]);
}

#[tokio::test]
async fn keys_at_another_place_are_fetched_from_there() {
    let world = World::new();
    let key = generate(Algorithm::Es256).unwrap();
    let text = jwks(&[&key]).as_str().to_owned();
    let keys = Router::new().route("/keys", get(move || async move { text }));
    let keys = world.serve(keys).await;
    let document = acme().with_jwks_uri(url(&keys, "/keys"));
    let source = DiscoveredKeys::new(world.discovery(world.options(&keys).known(document)));
    assert_eq!(ids(&source, Freshness::Kept).await.unwrap(), [key.kid()]);
    assert_eq!(world.resolver.asked.load(Ordering::SeqCst), 1);
    ids(&source, Freshness::Kept).await.unwrap();
    assert_eq!(world.resolver.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn keys_are_not_fetched_from_inside() {
    let world = World::new();
    let (router, count) = says(r#"{"keys":[]}"#);
    let server = world.serve(router).await;
    for uri in ["https://169.254.169.254/keys", "http://acme.example/keys", "file:///etc/passwd"] {
        let document = acme().with_jwks_uri(uri);
        let source = DiscoveredKeys::new(world.discovery(world.options(&server).known(document)));
        let result = ids(&source, Freshness::Kept).await;
        assert!(matches!(result, Err(KeysUnavailable::Fetch(_))), "{uri}: {result:?}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_realm_without_keys_has_none() {
    let world = World::new();
    let (router, _) = says("no keys");
    let server = world.serve(router).await;
    let of =
        |document| DiscoveredKeys::new(world.discovery(world.options(&server).known(document)));
    assert_eq!(ids(&of(acme()), Freshness::Kept).await, Err(KeysUnavailable::Unknown));
    let at = of(acme().with_jwks_uri(url(&server, "/keys")));
    let result = ids(&at, Freshness::Kept).await;
    assert!(matches!(result, Err(KeysUnavailable::Keys(_))), "{result:?}");
}
