internal import Kafka
internal import Topics

/// The redriven records of earlier calls, found in their destination topics. They show which
/// records a killed call had already sent.
struct PreviousReplays {
    private struct Partition: Hashable {
        let topic: TopicName
        let partition: Int32
    }

    private let deadLetters: DeadLetterTopic
    private var found: [Partition: (since: Int64, names: Set<String>)] = [:]

    init(deadLetters box: DeadLetterTopic) { self.deadLetters = box }

    /// Returns whether a topic has a record that was redriven under this name.
    ///
    /// - Parameters:
    ///   - name: The name in the header `DeadLetterRecord.redriven`.
    ///   - time: The cluster's time to search from, in milliseconds since 1970.
    mutating func contains(
        _ name: String, in topic: TopicName, partition: Int32, since time: Int64
    ) throws -> Bool {
        let place = Partition(topic: topic, partition: partition)
        if let known = found[place], known.since <= time { return known.names.contains(name) }
        var names: Set<String> = []
        // The brokers' clocks can differ slightly.
        let start = TopicScanner.Start.time(time - Redrive.busyMilliseconds)
        try deadLetters.scan(topic, in: partition, from: start) { record in
            guard let header = record.headers.last(named: DeadLetterRecord.redrivenHeader),
                let text = [UInt8](copying: header.value)
            else { return }
            names.insert(String(decoding: text, as: UTF8.self))
        }
        found[place] = (time, names)
        return names.contains(name)
    }
}
