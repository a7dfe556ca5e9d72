/// The storage policy of a broadcast channel: whether Apple stores the newest message for phones that connect
/// later. It cannot change after the channel is created. The raw values are Apple's.
package enum ChannelStoragePolicy: Int, Sendable, CaseIterable {
    /// Stores nothing. For frequent updates, such as scores, because Apple allows more broadcasts than with
    /// storage. `BroadcastHeaders.expiration` must be 0.
    case none = 0
    /// Stores the newest message for at most eight hours. For rare updates, such as flights.
    case newest = 1
}
