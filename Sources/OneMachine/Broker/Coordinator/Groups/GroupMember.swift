internal import Lifecycle

/// One consumer in a group: the facts of its last join, and its waiting requests.
final class GroupMember {
    /// Minimum of a member's rebalance timeout. A group checks an absent member again after this time,
    /// and must not spin.
    static let rebalanceTimeoutMinimumMilliseconds = 100

    let id: String
    let instanceID: String?
    let clientID: String
    let clientHost: String
    /// The order of joining. The oldest member leads, and all lists have this order.
    let order: UInt64
    var sessionTimeoutMilliseconds: Int
    var rebalanceTimeoutMilliseconds: Int {
        didSet { floorRebalanceTimeout() }
    }
    var protocols: [JoinGroupRequest.OfferedProtocol]
    var assignment: [UInt8] = []
    var joining: ReplyToken?
    var syncing: ReplyToken?
    /// Whether no join of the member was answered yet. It does not know its id, so it cannot send
    /// heartbeats.
    var isNew = false
    var sessionDeadline = Instant.distantFuture

    init(
        id: String, instanceID: String?, clientID: String, clientHost: String, order: UInt64,
        sessionTimeoutMilliseconds: Int, rebalanceTimeoutMilliseconds: Int,
        protocols: [JoinGroupRequest.OfferedProtocol]
    ) {
        self.id = id
        self.instanceID = instanceID
        self.clientID = clientID
        self.clientHost = clientHost
        self.order = order
        self.sessionTimeoutMilliseconds = sessionTimeoutMilliseconds
        self.rebalanceTimeoutMilliseconds = rebalanceTimeoutMilliseconds
        self.protocols = protocols
        floorRebalanceTimeout()
    }

    private func floorRebalanceTimeout() {
        if rebalanceTimeoutMilliseconds < Self.rebalanceTimeoutMinimumMilliseconds {
            rebalanceTimeoutMilliseconds = Self.rebalanceTimeoutMinimumMilliseconds
        }
    }

    /// Whether the member waits for an answer. Then it sends no heartbeats.
    var isWaiting: Bool { !isNew && (joining != nil || syncing != nil) }

    func metadata(for protocolName: String?) -> [UInt8] {
        protocols.first { $0.name == protocolName }?.metadata ?? []
    }

    var offeredBytes: Int { protocols.reduce(0) { $0 + $1.metadata.count } }

    func extendSession(at now: Instant) {
        sessionDeadline = now.advanced(byMilliseconds: sessionTimeoutMilliseconds)
    }
}
