internal import Kafka
internal import Topics

/// The records that earlier calls have sent again, found in the topics to which they were sent. After a call
/// was killed, they show the records that it had already sent.
struct PreviousReplays {
    private struct Partition: Hashable {
        let topic: TopicName
        let partition: Int32
    }

    /// The result of the search of one partition.
    private struct Search {
        /// The time from which on the partition was searched.
        let since: Int64
        /// The sends of the records with each name. Empty for records that are not sheets.
        var sends: [String: Set<String>] = [:]

        func contains(_ name: String, ofSend send: String?) -> Bool {
            guard let sends = sends[name] else { return false }
            return send.map { sends.contains($0) } ?? true
        }
    }

    /// The tolerated difference between the clocks of the brokers that stamped the mark and the records.
    private static let clockDifferenceMilliseconds: Int64 = 60_000

    private let deadLetters: DeadLetterTopic
    private var searches: [Partition: Search] = [:]

    init(deadLetters: DeadLetterTopic) { self.deadLetters = deadLetters }

    /// Returns whether a partition has a record that was sent again under this name.
    ///
    /// - Parameters:
    ///   - name: The name in the header `DeadLetterRecord.redrivenHeader`.
    ///   - send: The send of the jobs in the record, or nil for any. The new send of a resend names its call.
    ///   - time: The cluster's time to search from, in milliseconds since 1970.
    mutating func contains(
        _ name: String, ofSend send: String? = nil, in topic: TopicName, partition: Int32, since time: Int64
    ) throws -> Bool {
        let key = Partition(topic: topic, partition: partition)
        if let search = searches[key], search.since <= time { return search.contains(name, ofSend: send) }
        var search = Search(since: time)
        let start = TopicScanner.Start.time(time - Self.clockDifferenceMilliseconds)
        try deadLetters.scan(topic, in: partition, from: start) { record in
            guard let header = record.headers.last(named: DeadLetterRecord.redrivenHeader),
                let text = [UInt8](copying: header.value)
            else { return }
            let sends = ResentSheet.send(of: record).map { [$0] } ?? []
            search.sends[String(decoding: text, as: UTF8.self), default: []].formUnion(sends)
        }
        searches[key] = search
        return search.contains(name, ofSend: send)
    }
}
