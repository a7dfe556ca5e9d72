/// The tables of a `RowFile`. Each value starts with a time in milliseconds since 1970, so that one sweep
/// works for all tables.
enum RowTable: String, CaseIterable, Sendable {
    /// The rows of the topic's records.
    case rows
    /// Further keys of the rows. The value is the key in `rows`.
    case index
    /// Counts by name.
    case counts
}
