//! Reference servers that stand under load.
