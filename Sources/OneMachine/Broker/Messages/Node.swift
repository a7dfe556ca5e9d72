/// The only node, with its address for clients.
package struct Node: Sendable {
    package static let id: Int32 = 1
    /// One leader for ever: the epoch never moves.
    package static let leaderEpoch: Int32 = 0

    package var host: String
    package var port: UInt16
    package var clusterID: String

    package init(host: String, port: UInt16, clusterID: String) {
        self.host = host
        self.port = port
        self.clusterID = clusterID
    }

    /// "What am I allowed to do", as bits by operation number: there are no users here, so all that
    /// Kafka knows for a cluster (create 5, alter 7, describe 8, cluster action 9, describe configs
    /// 10, alter configs 11, idempotent write 12).
    static let clusterOperations = bits(5, 7, 8, 9, 10, 11, 12)
    /// Read 3, write 4, create 5, delete 6, alter 7, describe 8, describe configs 10, alter configs 11.
    static let topicOperations = bits(3, 4, 5, 6, 7, 8, 10, 11)
    static let operationsNotAsked = Int32.min

    private static func bits(_ operations: Int32...) -> Int32 {
        operations.reduce(0) { $0 | 1 << $1 }
    }
}
