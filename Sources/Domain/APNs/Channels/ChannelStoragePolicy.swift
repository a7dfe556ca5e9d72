/// The choice whether Apple stores the newest message of a broadcast channel for phones that connect later. It
/// cannot change after creation.
package enum ChannelStoragePolicy: Int, Sendable, CaseIterable {
    /// Stores nothing. For frequent updates, such as scores. Apple allows more broadcasts than with storage.
    /// `BroadcastHeaders.expiration` must be 0.
    case none = 0
    /// Stores the newest message for at most eight hours. For rare updates, such as flights.
    case newest = 1
}
