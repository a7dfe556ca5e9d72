internal import Lifecycle

/// One consumer in a group, as its last join described it, and the answers it waits for.
final class GroupMember {
    /// A shorter time to come back is taken as this: a group that waits for a member that stays away
    /// looks again after this time, and must not spin.
    static let rebalanceTimeoutMinimumMilliseconds = 100

    let id: String
    let instanceID: String?
    let clientID: String
    let clientHost: String
    /// The order of joining: the oldest member leads, and lists come out the same everywhere.
    let order: UInt64
    var sessionTimeoutMilliseconds: Int
    var rebalanceTimeoutMilliseconds: Int {
        didSet { floorRebalanceTimeout() }
    }
    var protocols: [JoinGroupRequest.Offer]
    var assignment: [UInt8] = []
    var joining: ReplyToken?
    var syncing: ReplyToken?
    /// It never had an answer to a join: it does not know its id and cannot beat.
    var isNew = false
    var sessionDeadline = Instant.distantFuture

    init(
        id: String, instanceID: String?, clientID: String, clientHost: String, order: UInt64,
        sessionTimeoutMilliseconds: Int, rebalanceTimeoutMilliseconds: Int,
        protocols: [JoinGroupRequest.Offer]
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

    /// While a member waits for us it cannot be expected to beat.
    var isWaiting: Bool { !isNew && (joining != nil || syncing != nil) }

    func metadata(for protocolName: String?) -> [UInt8] {
        protocols.first { $0.name == protocolName }?.metadata ?? []
    }

    var offeredBytes: Int { protocols.reduce(0) { $0 + $1.metadata.count } }

    func heard(at now: Instant) {
        sessionDeadline = now.advanced(byMilliseconds: sessionTimeoutMilliseconds)
    }
}
