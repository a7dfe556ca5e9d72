internal import Kafka
internal import Lifecycle

/// The first offsets of partitions of which the group has committed nothing yet.
struct Beginnings {
    /// The pause before a partition is asked for again.
    private static let againMilliseconds = 500

    private var known: [TopicPartition: Int64] = [:]
    private var wanted: Set<TopicPartition> = []
    /// The question that is out.
    private var question: QuestionID?
    private var nextQuestion = Instant(nanoseconds: 0)

    subscript(partition: TopicPartition) -> Int64? { known[partition] }

    mutating func want(_ partitions: Set<TopicPartition>) { wanted.formUnion(partitions) }

    /// Asks for those that are wanted, unless a question is out or was just answered.
    mutating func ask(by consumer: Consumer, at now: Instant) {
        guard !wanted.isEmpty, question == nil || now >= nextQuestion else { return }
        nextQuestion = now.advanced(byMilliseconds: Self.againMilliseconds + Self.answerMilliseconds)
        question = consumer.ask(.ends(Array(wanted)))
    }

    /// The longest time in which one leader answers. A question goes to all leaders, one after the other.
    private static let answerMilliseconds = 2000

    enum Result {
        case learned
        case nothing
        case otherQuestion
    }

    mutating func take(_ answer: KafkaAnswer, to id: QuestionID) -> Result {
        guard id == question else { return .otherQuestion }
        guard case .ends(let found) = answer else { return .nothing }
        for (partition, ends) in found {
            known[partition] = ends.low
            wanted.remove(partition)
        }
        return .learned
    }
}
