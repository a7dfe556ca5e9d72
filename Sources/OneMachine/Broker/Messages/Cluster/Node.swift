/// The only node of the cluster, with its address for clients.
package struct Node: Sendable {
    package static let id: Int32 = 1
    /// The leader of all partitions never changes, so neither does the epoch.
    package static let leaderEpoch: Int32 = 0

    package var host: String
    package var port: UInt16
    package var clusterID: String

    package init(host: String, port: UInt16, clusterID: String) {
        self.host = host
        self.port = port
        self.clusterID = clusterID
    }

    // The operations that a client may perform, as bits by Kafka's numbers. There are no users here, so each
    // client may perform all operations.

    static let clusterOperations = bits(of: [
        .create, .alter, .describe, .clusterAction, .describeConfigs, .alterConfigs, .idempotentWrite,
    ])
    static let topicOperations = bits(of: [
        .read, .write, .create, .delete, .alter, .describe, .describeConfigs, .alterConfigs,
    ])
    /// The value if the client did not ask.
    static let operationsNotAsked = Int32.min

    private enum Operation: Int32 {
        case read = 3
        case write = 4
        case create = 5
        case delete = 6
        case alter = 7
        case describe = 8
        case clusterAction = 9
        case describeConfigs = 10
        case alterConfigs = 11
        case idempotentWrite = 12
    }

    private static func bits(of operations: [Operation]) -> Int32 {
        operations.reduce(0) { $0 | 1 << $1.rawValue }
    }
}
