internal import Lifecycle

/// One consumer in a group: the facts of its last join, and its waiting requests.
final class GroupMember {
    /// Minimum of a member's rebalance timeout. A group checks an absent member again after this time,
    /// and must not spin.
    static let rebalanceTimeoutMinimumMilliseconds = 100

    let id: String
    /// The name of a static member, which stays the same when its process starts again; nil for others.
    let instanceID: String?
    let clientID: String
    let clientHost: String
    /// The order of joining. The oldest member leads, and all lists have this order.
    let joinOrder: UInt64
    var sessionTimeoutMilliseconds: Int
    var rebalanceTimeoutMilliseconds: Int {
        didSet { floorRebalanceTimeout() }
    }
    /// The assignment protocols that the member knows, in its order of preference.
    var protocols: [JoinGroupRequest.OfferedProtocol]
    /// The partitions of the member, as the leader encoded them.
    var assignment: [UInt8] = []
    /// The waiting JoinGroup request.
    var pendingJoin: ReplyToken?
    /// The waiting SyncGroup request.
    var pendingSync: ReplyToken?
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
        self.joinOrder = order
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

    /// Whether the member sends no heartbeats because it waits for an answer. Then its session does not end. The
    /// session of a new member ends even so, because nothing else would end a join that its client gave up.
    var isWaiting: Bool { !isNew && (pendingJoin != nil || pendingSync != nil) }

    /// Returns the metadata that the member gave for a protocol, for example its subscribed topics.
    func metadata(for protocolName: String?) -> [UInt8] {
        protocols.first { $0.name == protocolName }?.metadata ?? []
    }

    var offeredBytes: Int { protocols.reduce(0) { $0 + $1.metadata.count } }

    func extendSession(at now: Instant) {
        sessionDeadline = now.advanced(byMilliseconds: sessionTimeoutMilliseconds)
    }
}
