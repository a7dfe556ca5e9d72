/// The requests of Kafka's protocol that this broker answers, with Kafka's numbers.
package enum APIKey: Int16, CaseIterable, Sendable {
    case produce = 0
    case fetch = 1
    case listOffsets = 2
    case metadata = 3
    case offsetCommit = 8
    case offsetFetch = 9
    case findCoordinator = 10
    case joinGroup = 11
    case heartbeat = 12
    case leaveGroup = 13
    case syncGroup = 14
    case describeGroups = 15
    case listGroups = 16
    case apiVersions = 18
    case createTopics = 19
    case deleteTopics = 20
    case deleteRecords = 21
    case initProducerID = 22
    case offsetForLeaderEpoch = 23
    case addPartitionsToTxn = 24
    case addOffsetsToTxn = 25
    case endTxn = 26
    case txnOffsetCommit = 28
    case describeConfigs = 32
    case alterConfigs = 33
    case createPartitions = 37
    case deleteGroups = 42
    case incrementalAlterConfigs = 44
    case offsetDelete = 47
    case describeCluster = 60
}
