//! Examples, one idea each, in `examples/`; there is nothing here.
