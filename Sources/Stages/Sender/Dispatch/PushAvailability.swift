/// Whether the connections take pushes of a sheet's app.
package enum PushAvailability: Sendable, Hashable {
    case open(capacity: Int)
    /// Like `open`, but the first connection is not open yet, and no attempt has failed.
    case connecting(capacity: Int)
    /// The app has no key here or is not in the catalog. Its jobs wait in a tier.
    case closed(reason: String)
    /// The sheet cannot be turned into a request.
    case faulty(code: String)
}

/// Returns how many pushes of a sheet's app the connections take now. Refused tokens have separate connections, the
/// suspect connections.
package typealias AvailabilityCheck = (Sheet, _ isSuspect: Bool) -> PushAvailability
