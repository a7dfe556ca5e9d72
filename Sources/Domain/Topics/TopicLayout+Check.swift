internal import Glibc
package import Kafka
internal import Lifecycle

extension TopicLayout {
    /// The limit for one request to the cluster.
    static let requestMilliseconds = 15_000
    /// The minimum for topics with three or more replicas. With a minimum of one, the loss of one disk could
    /// lose acknowledged records.
    private static let insyncReplicasMin: Int64 = 2

    /// The pause between two checks of topics that do not fit.
    private static let pauseMicroseconds: UInt32 = 50_000

    /// Returns all mismatches of these topics. A topic that was just created or altered is not known to all
    /// brokers at once. So a mismatch is checked again until the limit.
    package func check(
        _ topics: [TopicName] = TopicName.allCases, on admin: AdminClient
    ) throws(KafkaError) -> [TopicMismatch] {
        let limit = Instant.now().advanced(byMilliseconds: KafkaErrorCode.topicSettleMilliseconds)
        while true {
            let found = try currentMismatches(of: topics, on: admin)
            if found.isEmpty || Instant.now() >= limit { return found }
            usleep(Self.pauseMicroseconds)
        }
    }

    private func currentMismatches(of topics: [TopicName], on admin: AdminClient) throws(KafkaError)
        -> [TopicMismatch]
    {
        let known = try admin.topics(withinMilliseconds: Self.requestMilliseconds)
        let descriptions = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
        let existing = topics.map(name).filter { descriptions[$0]?.partitions.isEmpty == false }
        let configurations =
            existing.isEmpty
            ? [:] : try admin.configurations(of: existing, withinMilliseconds: Self.requestMilliseconds)
        return topics.flatMap { topic in
            mismatches(
                of: topic, partitions: descriptions[name(of: topic)]?.partitions.count ?? 0,
                replicas: descriptions[name(of: topic)]?.replicas ?? 0,
                configuration: configurations[name(of: topic)] ?? [:])
        }
    }

    /// Throws if any of the topics does not fit. A stage calls this before it starts.
    package func require(_ topics: [TopicName], on admin: AdminClient) throws {
        let found = try check(topics, on: admin)
        if !found.isEmpty { throw MismatchedTopics(mismatches: found) }
    }

    func mismatches(
        of topic: TopicName, partitions: Int, replicas: Int, configuration: [String: String]
    ) -> [TopicMismatch] {
        let need = requirements(of: topic)
        func mismatch(
            of property: TopicMismatch.Property, have: String, want: String, setting: String? = nil
        ) -> TopicMismatch {
            TopicMismatch(
                topic: name(of: topic), property: property, actual: have, required: want, setting: setting)
        }
        if partitions == 0 { return [mismatch(of: .existence, have: "nothing", want: "the topic")] }
        var found: [TopicMismatch] = []
        if partitions != need.partitions {
            found.append(mismatch(of: .partitions, have: String(partitions), want: String(need.partitions)))
        }
        func value(of property: TopicMismatch.Property) -> String {
            configuration[property.rawValue] ?? "none"
        }
        let policy = value(of: .cleanup).split { $0 == "," || $0 == " " }.sorted().joined(separator: ",")
        func requireExactly(_ property: TopicMismatch.Property, want: String, have: String) {
            if have != want { found.append(mismatch(of: property, have: have, want: want, setting: want)) }
        }
        requireExactly(.cleanup, want: need.cleanup.kafkaValue, have: policy)
        /// Notes a value below `want`. −1 means that there is no limit.
        func requireAtLeast(_ property: TopicMismatch.Property, want: Int64?) {
            guard let want else { return }
            let have = Int64(value(of: property))
            if let have, have >= want || (have == -1 && property == .retention) { return }
            found.append(
                mismatch(
                    of: property, have: value(of: property), want: "at least \(want)", setting: String(want)))
        }
        requireAtLeast(.retention, want: need.cleanup.retentionMilliseconds)
        requireAtLeast(
            .deleteRetention, want: need.cleanup.isCompacting ? Self.deleteRetentionMilliseconds : nil)
        requireAtLeast(.recordBytes, want: need.recordBytesMax.map(Int64.init))
        requireAtLeast(.insync, want: replicas > 2 ? Self.insyncReplicasMin : nil)
        if need.isStampedByCluster {
            requireExactly(.timestamps, want: "LogAppendTime", have: value(of: .timestamps))
        }
        return found
    }
}
