internal import Kafka
internal import Topics

/// What earlier calls have sent once more, found in the topics where it went: so a call that was killed
/// between a deed and its mark is known to have done it.
struct Sightings {
    private struct Place: Hashable {
        let topic: TopicName
        let partition: Int32
    }

    private let box: LetterBox
    private var found: [Place: (since: Int64, names: Set<String>)] = [:]

    init(_ box: LetterBox) { self.box = box }

    /// - Parameters:
    ///   - name: as `Letter.redriven` has it.
    ///   - time: since when; milliseconds since 1970, by the cluster's clock.
    mutating func has(
        _ name: String, in topic: TopicName, _ partition: Int32, since time: Int64
    ) throws -> Bool {
        let place = Place(topic: topic, partition: partition)
        if let known = found[place], known.since <= time { return known.names.contains(name) }
        var names: Set<String> = []
        // Brokers' clocks differ a little.
        let start = TopicScanner.Start.time(time - Redrive.busyMilliseconds)
        try box.scan(topic, in: partition, from: start) { record in
            guard let header = record.headers.last(Letter.redriven),
                let text = [UInt8](copying: header.value)
            else { return }
            names.insert(String(decoding: text, as: UTF8.self))
        }
        found[place] = (time, names)
        return names.contains(name)
    }
}
