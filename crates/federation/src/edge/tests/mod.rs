//! A realm `acme.com`, and what `shop` and others send it.

mod a18;
mod answers;
mod core;
mod failures;
mod faulty;
mod gateway;
mod guards;
mod hanging;
mod limits;
mod observe;
mod props;
mod replies;
mod support;
mod waiting;
mod world;
