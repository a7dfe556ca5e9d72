internal import LiveActivity

/// Which request it is, as far as it could be read: what misbehaviour is chosen by and the journal
/// keeps. A refused request has facts too.
struct RequestFacts: Sendable, Hashable {
    enum Kind: String, Sendable, CaseIterable {
        case push
        case broadcast
        case createChannel = "create_channel"
        case readChannel = "read_channel"
        case deleteChannel = "delete_channel"
        case listChannels = "list_channels"
        /// No path that APNs has.
        case other
    }

    var kind = Kind.other
    var environment: Environment
    /// From 1, over all ports of the simulator.
    var connection: Int
    /// From 1 on its connection.
    var requestOfConnection: Int
    /// From 1, over all connections.
    var request: Int
    var stream: Int32
    /// Milliseconds since 1970, by the simulator's clock.
    var receivedAt: Int64
    /// By how many milliseconds that clock was before the machine's.
    var clockAhead: Int64 = 0
    /// Nil where neither could be read.
    var target: AcceptedPush.Target?
    var bundleID: String?
    var event: PushEvent?
    /// Of the payload, seconds since 1970.
    var timestamp: Int64?
    /// Of the provider token, if it was looked at.
    var doubt: ProviderTokenDoubt?
}
