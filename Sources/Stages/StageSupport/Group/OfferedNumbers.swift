package import Kafka

/// The partition numbers in an offer of a group.
///
/// All topics of a group have the same partitions and the same members, so one member gets a partition number in all
/// topics. A number that is offered in only some topics is not served, because its records belong together. It waits
/// for the next offer: another member may read other topics, or may not know a new topic yet.
package struct OfferedNumbers: Sendable, Equatable {
    /// The most numbers that a readiness problem names, for each topic.
    private static let namedNumbersMax = 10

    /// The numbers that are offered in all topics, in ascending order.
    package let complete: [Int32]
    /// The numbers that are offered in only some topics, in ascending order.
    package let incomplete: [Int32]
    /// The topics that lack incomplete numbers, and these numbers. Nil if every number is complete.
    package let readinessProblem: String?

    /// - Parameter topics: the names of the topics that the member reads.
    package init(_ offered: [TopicPartition] = [], of topics: [String]) {
        let offeredPartitions = Set(offered)
        let numbers = Set(offered.map(\.partition)).sorted()
        var missing: [(topic: String, numbers: [Int32])] = []
        for topic in topics {
            let missingNumbers = numbers.filter { !offeredPartitions.contains(TopicPartition(topic, $0)) }
            if !missingNumbers.isEmpty { missing.append((topic, missingNumbers)) }
        }
        let incompleteNumbers = Set(missing.flatMap(\.numbers))
        complete = numbers.filter { !incompleteNumbers.contains($0) }
        incomplete = incompleteNumbers.sorted()
        readinessProblem = missing.isEmpty ? nil : Self.problem(of: missing)
    }

    private static func problem(of missing: [(topic: String, numbers: [Int32])]) -> String {
        let lists = missing.map { topic, numbers in
            let named = numbers.prefix(namedNumbersMax).map(String.init).joined(separator: ", ")
            let more = numbers.count > namedNumbersMax ? " and \(numbers.count - namedNumbersMax) more" : ""
            return "the group offers partitions without those of \(topic): \(named)\(more)"
        }
        return lists.joined(separator: "; ")
            + "; they wait: check that the topic exists and that all processes of the stage run the same version"
    }
}
