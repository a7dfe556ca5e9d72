/// The versions of a request that this broker understands. Versions from `firstCompact` on have the compact
/// encoding.
///
/// The ranges cover the versions that the tested clients send. The old versions of the group requests are
/// offered too, because librdkafka balances consumers only if a broker offers their version 0.
package struct VersionRange: Sendable {
    package let oldest: Int16
    package let newest: Int16
    package let firstCompact: Int16
    /// The oldest version in the answer to ApiVersions. It can be below `oldest`: librdkafka compresses only if the
    /// broker offers version 0 of Produce. So this broker offers that version and refuses it, as Apache Kafka does.
    package let oldestAdvertised: Int16

    fileprivate init(_ range: ClosedRange<Int16>, compactFrom: Int16, advertisedFrom: Int16? = nil) {
        self.oldest = range.lowerBound
        self.newest = range.upperBound
        self.firstCompact = compactFrom
        self.oldestAdvertised = advertisedFrom ?? range.lowerBound
    }

    package func contains(_ version: Int16) -> Bool { version >= oldest && version <= newest }

    package func encoding(of version: Int16) -> WireEncoding {
        version >= firstCompact ? .compact : .classic
    }
}

extension APIKey {
    package var versions: VersionRange {
        switch self {
        case .produce: VersionRange(3...9, compactFrom: 9, advertisedFrom: 0)
        case .fetch: VersionRange(4...11, compactFrom: 12)
        case .listOffsets: VersionRange(1...7, compactFrom: 6)
        case .metadata: VersionRange(0...12, compactFrom: 9)
        case .offsetCommit: VersionRange(1...8, compactFrom: 8)
        case .offsetFetch: VersionRange(1...8, compactFrom: 6)
        case .findCoordinator: VersionRange(0...4, compactFrom: 3)
        case .joinGroup: VersionRange(0...7, compactFrom: 6)
        case .heartbeat: VersionRange(0...4, compactFrom: 4)
        case .leaveGroup: VersionRange(0...4, compactFrom: 4)
        case .syncGroup: VersionRange(0...5, compactFrom: 4)
        case .describeGroups: VersionRange(0...5, compactFrom: 5)
        case .listGroups: VersionRange(0...4, compactFrom: 3)
        case .apiVersions: VersionRange(0...3, compactFrom: 3)
        case .createTopics: VersionRange(2...7, compactFrom: 5)
        case .deleteTopics: VersionRange(1...5, compactFrom: 4)
        case .deleteRecords: VersionRange(0...2, compactFrom: 2)
        case .initProducerID: VersionRange(0...4, compactFrom: 2)
        case .offsetForLeaderEpoch: VersionRange(2...4, compactFrom: 4)
        case .addPartitionsToTxn: VersionRange(0...3, compactFrom: 3)
        case .addOffsetsToTxn: VersionRange(0...3, compactFrom: 3)
        case .endTxn: VersionRange(0...3, compactFrom: 3)
        case .txnOffsetCommit: VersionRange(0...3, compactFrom: 3)
        case .describeConfigs: VersionRange(1...4, compactFrom: 4)
        case .alterConfigs: VersionRange(0...2, compactFrom: 2)
        case .createPartitions: VersionRange(0...3, compactFrom: 2)
        case .deleteGroups: VersionRange(0...2, compactFrom: 2)
        case .incrementalAlterConfigs: VersionRange(0...1, compactFrom: 1)
        case .offsetDelete: VersionRange(0...0, compactFrom: .max)
        case .describeCluster: VersionRange(0...0, compactFrom: 0)
        }
    }
}
