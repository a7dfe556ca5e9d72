/// Whether a transfer may be written now. A transfer is a record that gives jobs to a later attempt or to the next
/// owner of the lane: a tier's record, or the release of a start's intent. A process must not write it for a lane that
/// may belong to another process.
enum TransferTiming: Sendable, Hashable {
    case now
    /// The record waits for a lease.
    case later
    /// The next owner reads the jobs from the same offset, so the record must not be written.
    case never
}
