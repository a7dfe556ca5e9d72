/// The tables of a `RowFile`. Each value starts with a time in milliseconds since 1970, so that
/// `RetentionSweep` works for all tables.
enum RowTable: String, CaseIterable, Sendable {
    /// The rows of the topic's records.
    case rows
    /// Further keys of the rows, for example by time. The value names the row in `rows`.
    case index
    /// Counts by name.
    case counts
}
