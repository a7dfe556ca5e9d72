internal import Kafka
internal import Topics

/// The records that earlier calls have sent again, found in the topics to which they were sent. After a call
/// was killed, they show the records that it had already sent.
struct PreviousReplays {
    private struct Partition: Hashable {
        let topic: TopicName
        let partition: Int32
    }

    /// The tolerated difference between the clocks of the brokers that stamped the mark and the records.
    private static let clockDifferenceMilliseconds: Int64 = 60_000

    private let deadLetters: DeadLetterTopic
    /// The names in each partition that was searched, and the time from which on it was searched.
    private var searches: [Partition: (since: Int64, names: Set<String>)] = [:]

    init(deadLetters: DeadLetterTopic) { self.deadLetters = deadLetters }

    /// Returns whether a partition has a record that was sent again under this name.
    ///
    /// - Parameters:
    ///   - name: The name in the header `DeadLetterRecord.redrivenHeader`.
    ///   - time: The cluster's time to search from, in milliseconds since 1970.
    mutating func contains(
        _ name: String, in topic: TopicName, partition: Int32, since time: Int64
    ) throws -> Bool {
        let key = Partition(topic: topic, partition: partition)
        if let search = searches[key], search.since <= time { return search.names.contains(name) }
        var names: Set<String> = []
        let start = TopicScanner.Start.time(time - Self.clockDifferenceMilliseconds)
        try deadLetters.scan(topic, in: partition, from: start) { record in
            guard let header = record.headers.last(named: DeadLetterRecord.redrivenHeader),
                let text = [UInt8](copying: header.value)
            else { return }
            names.insert(String(decoding: text, as: UTF8.self))
        }
        searches[key] = (time, names)
        return names.contains(name)
    }
}
