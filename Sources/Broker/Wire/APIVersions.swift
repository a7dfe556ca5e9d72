/// Which versions of a request this broker understands, and from which on they are flexible.
///
/// The ranges are what the clients we are judged by really send; a version that no test speaks is
/// not offered. Low ends stay where librdkafka looks for features: it takes "supports version 0"
/// of the group requests for "can balance consumers".
package struct APIVersions: Sendable {
    package let oldest: Int16
    package let newest: Int16
    package let firstFlexible: Int16
    /// What ApiVersions says where it differs from `oldest`: librdkafka compresses only if the
    /// broker offers version 0 of Produce, which Apache Kafka therefore offers, and refuses, too.
    package let oldestAdvertised: Int16

    fileprivate init(_ range: ClosedRange<Int16>, flexible: Int16, advertisedFrom: Int16? = nil) {
        self.oldest = range.lowerBound
        self.newest = range.upperBound
        self.firstFlexible = flexible
        self.oldestAdvertised = advertisedFrom ?? range.lowerBound
    }

    package func contains(_ version: Int16) -> Bool { version >= oldest && version <= newest }
    package func isFlexible(_ version: Int16) -> Bool { version >= firstFlexible }
}

extension APIKey {
    package var versions: APIVersions {
        switch self {
        case .produce: APIVersions(3...9, flexible: 9, advertisedFrom: 0)
        case .fetch: APIVersions(4...11, flexible: 12)
        case .listOffsets: APIVersions(1...7, flexible: 6)
        case .metadata: APIVersions(0...12, flexible: 9)
        case .offsetCommit: APIVersions(1...8, flexible: 8)
        case .offsetFetch: APIVersions(1...8, flexible: 6)
        case .findCoordinator: APIVersions(0...4, flexible: 3)
        case .joinGroup: APIVersions(0...7, flexible: 6)
        case .heartbeat: APIVersions(0...4, flexible: 4)
        case .leaveGroup: APIVersions(0...4, flexible: 4)
        case .syncGroup: APIVersions(0...5, flexible: 4)
        case .describeGroups: APIVersions(0...5, flexible: 5)
        case .listGroups: APIVersions(0...4, flexible: 3)
        case .apiVersions: APIVersions(0...3, flexible: 3)
        case .createTopics: APIVersions(2...7, flexible: 5)
        case .deleteTopics: APIVersions(1...5, flexible: 4)
        case .deleteRecords: APIVersions(0...2, flexible: 2)
        case .initProducerID: APIVersions(0...4, flexible: 2)
        case .offsetForLeaderEpoch: APIVersions(2...4, flexible: 4)
        case .addPartitionsToTxn: APIVersions(0...3, flexible: 3)
        case .addOffsetsToTxn: APIVersions(0...3, flexible: 3)
        case .endTxn: APIVersions(0...3, flexible: 3)
        case .txnOffsetCommit: APIVersions(0...3, flexible: 3)
        case .describeConfigs: APIVersions(1...4, flexible: 4)
        case .alterConfigs: APIVersions(0...2, flexible: 2)
        case .createPartitions: APIVersions(0...3, flexible: 2)
        case .deleteGroups: APIVersions(0...2, flexible: 2)
        case .incrementalAlterConfigs: APIVersions(0...1, flexible: 1)
        case .offsetDelete: APIVersions(0...0, flexible: .max)
        case .describeCluster: APIVersions(0...0, flexible: 0)
        }
    }
}
