internal import Glibc
package import Kafka
internal import Lifecycle

/// The comparison of existing topics with their requirements.
extension TopicLayout {
    /// The limit for one request to the cluster.
    static let requestMilliseconds = 15_000
    /// The minimum for topics with three or more replicas. With a minimum of one, the loss of one disk could
    /// lose acknowledged records.
    private static let insyncReplicasMin: Int64 = 2
    /// The pause between two checks of topics that do not fit.
    private static let pauseMicroseconds: UInt32 = 50_000

    /// Throws if any of the topics does not fit. A stage calls this before it starts.
    package func require(_ topics: [TopicName], on admin: AdminClient) throws {
        let mismatches = try check(topics, on: admin)
        if !mismatches.isEmpty { throw MismatchedTopics(mismatches: mismatches) }
    }

    /// Returns all mismatches of these topics. Not all brokers know at once that a topic was created or
    /// altered, so a mismatch counts only if it lasts until the limit.
    package func check(
        _ topics: [TopicName] = TopicName.allCases, on admin: AdminClient
    ) throws(KafkaError) -> [TopicMismatch] {
        let limit = Instant.now().advanced(byMilliseconds: KafkaErrorCode.topicSettleMilliseconds)
        while true {
            do throws(KafkaError) {
                let mismatches = try currentMismatches(of: topics, on: admin)
                if mismatches.isEmpty || Instant.now() >= limit { return mismatches }
            } catch {
                // The broker that was asked for the settings does not know the topic yet.
                guard error.code.retryability == .untilTopicSettles, Instant.now() < limit else {
                    throw error
                }
            }
            usleep(Self.pauseMicroseconds)
        }
    }

    /// Returns the mismatches at this moment.
    private func currentMismatches(of topics: [TopicName], on admin: AdminClient) throws(KafkaError)
        -> [TopicMismatch]
    {
        let clusterTopics = try admin.topics(withinMilliseconds: Self.requestMilliseconds)
        let descriptions = Dictionary(clusterTopics.map { ($0.name, $0) }) { first, _ in first }
        let existingNames = topics.map(name).filter { descriptions[$0]?.partitions.isEmpty == false }
        let configurations =
            existingNames.isEmpty
            ? [:] : try admin.configurations(of: existingNames, withinMilliseconds: Self.requestMilliseconds)
        return topics.flatMap { topic in
            mismatches(
                of: topic, partitions: descriptions[name(of: topic)]?.partitions.count ?? 0,
                replicas: descriptions[name(of: topic)]?.replicas ?? 0,
                configuration: configurations[name(of: topic)] ?? [:])
        }
    }

    /// Compares one topic with its requirements.
    ///
    /// - Parameters:
    ///   - partitions: The number of partitions, or 0 if the topic does not exist.
    ///   - replicas: The number of replicas of each partition.
    ///   - configuration: The topic's settings, including the cluster's defaults.
    func mismatches(
        of topic: TopicName, partitions: Int, replicas: Int, configuration: [String: String]
    ) -> [TopicMismatch] {
        let required = requirements(of: topic)
        var comparison = TopicComparison(topic: name(of: topic), configuration: configuration)
        if partitions == 0 {
            comparison.add(.existence, actual: "nothing", required: "the topic")
            return comparison.mismatches
        }
        if partitions != required.partitions {
            comparison.add(
                .partitions, actual: String(partitions), required: String(required.partitions))
        }
        comparison.require(.cleanup, toBe: required.cleanup.kafkaValue)
        comparison.require(.retention, toBeAtLeast: required.cleanup.retentionMilliseconds)
        comparison.require(
            .deleteRetention,
            toBeAtLeast: required.cleanup.isCompacting ? Self.deleteRetentionMilliseconds : nil)
        comparison.require(
            .compactionLag,
            toBeAtMost: required.cleanup.isCompacting ? TopicRequirements.compactionLagMilliseconds : nil)
        comparison.require(.recordBytes, toBeAtLeast: required.recordBytesMax.map(Int64.init))
        comparison.require(.insyncReplicas, toBeAtLeast: replicas > 2 ? Self.insyncReplicasMin : nil)
        if required.isStampedByCluster {
            comparison.require(.timestamps, toBe: TopicRequirements.clusterTimestamps)
        }
        return comparison.mismatches
    }
}

/// The mismatches of one topic, collected property by property.
private struct TopicComparison {
    let topic: String
    let configuration: [String: String]
    private(set) var mismatches: [TopicMismatch] = []

    init(topic: String, configuration: [String: String]) {
        self.topic = topic
        self.configuration = configuration
    }

    mutating func add(
        _ property: TopicMismatch.Property, actual: String, required: String, setting: String? = nil
    ) {
        mismatches.append(
            TopicMismatch(
                topic: topic, property: property, actual: actual, required: required, setting: setting))
    }

    /// Adds a setting that has another value.
    mutating func require(_ property: TopicMismatch.Property, toBe required: String) {
        var actual = configuration[property.rawValue] ?? "none"
        if property == .cleanup {
            // A list. Its order and its spaces do not matter.
            actual = actual.split { $0 == "," || $0 == " " }.sorted().joined(separator: ",")
        }
        if actual != required { add(property, actual: actual, required: required, setting: required) }
    }

    /// Adds a value above the maximum. A nil maximum requires nothing.
    mutating func require(_ property: TopicMismatch.Property, toBeAtMost maximum: Int64?) {
        guard let maximum else { return }
        let text = configuration[property.rawValue] ?? "none"
        if let actual = Int64(text), actual <= maximum { return }
        add(property, actual: text, required: "at most \(maximum)", setting: String(maximum))
    }

    /// Adds a value below the minimum. A nil minimum requires nothing.
    mutating func require(_ property: TopicMismatch.Property, toBeAtLeast minimum: Int64?) {
        guard let minimum else { return }
        let text = configuration[property.rawValue] ?? "none"
        let actual = Int64(text)
        // With -1 Kafka keeps the records forever.
        let isUnlimited = actual == -1 && property == .retention
        if let actual, actual >= minimum || isUnlimited { return }
        add(property, actual: text, required: "at least \(minimum)", setting: String(minimum))
    }
}
