/// Whether a record that needs a lease may be written now. Such a record gives jobs to a later attempt or to the next
/// owner of the lane, or ends jobs without a push. A process must not write it for a lane that may belong to another
/// process.
enum LeaseTiming: Sendable, Hashable {
    case now
    /// The record waits for a lease.
    case later
    /// The next owner reads the jobs from the same offset, so the record must not be written.
    case never
}
