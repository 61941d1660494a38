use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::*;
use crate::Freshness;

/// A realm that changes its keys: what is kept, and what one would be told if one asked.
#[derive(Debug)]
struct Rotating {
    kept: Mutex<Keys>,
    published: Mutex<Option<Keys>>,
    asked: AtomicUsize,
}

#[async_trait]
impl KeySource for Rotating {
    async fn keys(
        &self,
        _: &RealmName,
        freshness: Freshness,
    ) -> Result<Arc<Keys>, KeysUnavailable> {
        if freshness == Freshness::Anew {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let published = self.published.lock().clone().ok_or(KeysUnavailable::Unknown)?;
            *self.kept.lock() = published;
        }
        Ok(Arc::new(self.kept.lock().clone()))
    }
}

fn rotating(kept: &[&Owner], published: Option<&[&Owner]>) -> Arc<Rotating> {
    Arc::new(Rotating {
        kept: Mutex::new(jwks(kept)),
        published: Mutex::new(published.map(jwks)),
        asked: AtomicUsize::new(0),
    })
}

#[tokio::test]
async fn a_new_key_is_asked_for_once_and_then_known() {
    let source = rotating(&[&EDDSA], Some(&[&EDDSA, &ES256]));
    let guard = MxSec::new(realm("acme.com"), Arc::clone(&source));
    for owner in [&*EDDSA, &*ES256, &*ES256, &*EDDSA] {
        assert_eq!(guard.prove(&sealed(owner), NOW).await, Ok(()));
    }
    assert_eq!(source.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_key_that_was_taken_away_proves_nothing() {
    let source = rotating(&[&EDDSA], Some(&[&ES256]));
    let guard = MxSec::new(realm("acme.com"), Arc::clone(&source));
    assert_eq!(guard.prove(&sealed(&ES256), NOW).await, Ok(()));
    assert_eq!(guard.prove(&sealed(&EDDSA), NOW).await, Err(Refused::UnknownKey));
}

#[tokio::test]
async fn keys_that_can_not_be_had_prove_nothing() {
    let source = rotating(&[&EDDSA], None);
    let guard = MxSec::new(realm("acme.com"), Arc::clone(&source));
    assert_eq!(guard.prove(&sealed(&ES256), NOW).await, Err(Refused::NoKeys));
    assert_eq!(guard.prove(&sealed(&EDDSA), NOW).await, Ok(()));
}

#[tokio::test]
async fn a_token_that_is_wrong_anyway_makes_nobody_ask() {
    let source = rotating(&[], Some(&[]));
    let guard = MxSec::new(realm("acme.com"), Arc::clone(&source));
    let mut moved = sealed(&EDDSA);
    moved.body = None;
    assert_eq!(guard.prove(&moved, NOW).await, Err(Refused::Body));
    assert_eq!(source.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn configured_keys_come_before_others() {
    let first = StaticKeys::new().with(realm("bank"), jwks(&[]));
    let second =
        StaticKeys::new().with(realm("shop"), jwks(&[&EDDSA])).with(realm("bank"), jwks(&[&EDDSA]));
    let both = (first, second);
    let ids = |keys: Arc<Keys>| keys.ids().count();
    assert_eq!(ids(both.keys(&realm("shop"), Freshness::Kept).await.unwrap()), 1);
    assert_eq!(ids(both.keys(&realm("bank"), Freshness::Kept).await.unwrap()), 0);
    let nobody = both.keys(&realm("nobody"), Freshness::Kept).await;
    assert_eq!(nobody, Err(KeysUnavailable::Unknown));
}
