//! Reads run directories and says what they mean: figures, thresholds, findings, verdict.
