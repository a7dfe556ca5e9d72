internal import Identifiers
internal import Payloads

/// The parsed facts about a request. A fault script selects requests by them, and the journal stores them. A
/// refused request has facts too, as far as it could be parsed.
package struct RequestFacts: Sendable, Hashable {
    enum RequestKind: String, Sendable, CaseIterable {
        case push
        case broadcast
        case createChannel = "create_channel"
        case readChannel = "read_channel"
        case deleteChannel = "delete_channel"
        case listChannels = "list_channels"
        /// A path that APNs does not have.
        case other
    }

    var kind = RequestKind.other
    var environment: Environment
    /// Number of the connection, from 1 across all ports of the simulator.
    var connection: Int
    /// Number of the request on its connection, from 1.
    var requestOfConnection: Int
    /// Number of the request, from 1 across all connections.
    var request: Int
    var stream: Int32
    /// Milliseconds since 1970, by the simulator's clock.
    var receivedAt: Int64
    /// Milliseconds by which the simulator's clock was ahead of the machine's clock.
    var clockOffsetMilliseconds: Int64 = 0
    /// The token or channel. Nil if neither could be parsed.
    package var target: AcceptedPush.Target?
    package var bundleID: String?
    var event: PushEvent?
    /// The payload's timestamp, in seconds since 1970.
    var timestamp: Int64?
    /// The warning about the provider token. Nil without a warning, or if the token was not checked.
    var warning: ProviderTokenWarning?
}
