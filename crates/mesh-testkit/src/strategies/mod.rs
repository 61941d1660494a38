//! Proptest strategies.
