/// The tables of a `RowFile`. Each value begins with milliseconds since 1970, so that all of them are forgotten in
/// one way.
enum RowTable: String, CaseIterable, Sendable {
    /// What the topic's records say.
    case rows
    /// By what else rows are found; the value is what `rows` has them under.
    case index
    /// How many, by name.
    case counts
}
