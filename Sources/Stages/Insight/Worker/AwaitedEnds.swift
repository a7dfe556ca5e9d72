internal import Kafka
internal import Lifecycle

/// The partitions that are not read yet, because their ends are not known.
struct AwaitedEnds {
    private static let againMilliseconds = 1000

    /// The time of the next question for each partition. Nil while a question is out.
    private var wanted: [TopicPartition: Instant?] = [:]

    var isEmpty: Bool { wanted.isEmpty }

    mutating func want(_ places: [TopicPartition], at time: Instant) {
        for place in places { wanted[place] = .some(time) }
    }

    mutating func forget(_ places: [TopicPartition]) {
        for place in places { wanted[place] = nil }
    }

    mutating func forgetAll() { wanted = [:] }

    /// Asks for the partitions that are due, in one question.
    mutating func ask(by asker: Producer, at now: Instant) {
        let due = wanted.filter { $0.value.map { $0 <= now } ?? false }.map(\.key)
        if due.isEmpty { return }
        for place in due { wanted[place] = .some(nil) }
        _ = asker.ask(.ends(due))
    }

    /// Returns the ends of partitions that still wait for them.
    mutating func take(_ answer: KafkaAnswer, at now: Instant) -> [TopicPartition: Watermarks] {
        switch answer {
        case .ends(let ends):
            let awaited = ends.filter { wanted[$0.key] != nil }
            for place in awaited.keys { wanted[place] = nil }
            return awaited
        case .failed(let places, _):
            let again = now.advanced(byMilliseconds: Self.againMilliseconds)
            for place in places where wanted[place] != nil { wanted[place] = .some(again) }
            return [:]
        case .committed, .records: return [:]
        }
    }
}
