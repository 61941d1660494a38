//! A realm `acme.com`, and what `shop` and others send it.

mod core;
mod guards;
mod limits;
mod replies;
mod support;
mod waiting;
