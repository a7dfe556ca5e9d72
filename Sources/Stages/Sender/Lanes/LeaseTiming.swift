internal import Lifecycle

/// Whether a record that needs a lease may be written now. Such a record gives jobs to a later attempt or to the next
/// owner of the lane, or ends jobs without a push.
///
/// Without a lease, another process may own the lane and may have read `receipts` to their end. That process would not
/// see the record, and would push the jobs too.
enum LeaseTiming: Sendable, Hashable {
    case now
    /// The record waits for a lease.
    case later
    /// The next owner reads the jobs from the same offset, so the record must not be written.
    case never
}

extension LaneOwnership {
    /// Returns whether records of a lane that need a lease may be written now.
    func leaseTiming(of lane: Lane, at now: Instant) -> LeaseTiming {
        var allowedUntil = lease.until
        if case .orphaned(_, let leaseUntil) = lane.phase { allowedUntil = leaseUntil }
        if now < allowedUntil { return .now }
        return lane.isLeaving ? .never : .later
    }
}
