//! Platform files (`platforms/*.toml`): every figure of a card and its host, with its source.
