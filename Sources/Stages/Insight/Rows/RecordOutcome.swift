/// The result of a record in a file of insight. The metrics count records by it.
enum RecordOutcome: String, Sendable {
    /// The record has changed the rows or the counts.
    case entered
    /// The file had taken this record before, and the record was read again.
    case known
    /// The record is of a kind that has no place in the figures, such as the mark of a sender that took over a lane.
    case ignored
    /// The record has no value where it needs one, or a form that this version does not know.
    case unreadable
}
