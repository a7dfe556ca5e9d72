internal import CRdKafka
internal import Lifecycle

/// The answers that came for one client and that its loop has not taken.
final class ReceivedAnswers: Sendable {
    private struct State {
        var asked: UInt64 = 0
        var answers: [(QuestionID, KafkaAnswer)] = []
    }

    private let state = TracedLock(State())

    func nextID() -> QuestionID {
        state.withLock { state in
            state.asked += 1
            return QuestionID(state.asked)
        }
    }

    func add(_ answer: KafkaAnswer, to id: QuestionID) { state.withLock { $0.answers.append((id, answer)) } }

    func take() -> [(QuestionID, KafkaAnswer)] {
        state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }
}

extension Client {
    /// The time that one leader or coordinator has for its answer.
    static let questionMilliseconds = 2000

    /// Asks on another thread. The answer lies in `received`, and `wakeup` signals it.
    func ask(_ question: KafkaQuestion) -> QuestionID {
        let id = received.nextID()
        QuestionThreads.shared.run { [self] in
            switch question {
            case .committed(let partitions): answerCommitted(partitions, to: id)
            case .ends(let partitions):
                answer(id, partitions) { (partitions, deadline) throws(KafkaError) in
                    .ends(try ends(of: partitions, deadline))
                }
            case .records(let time, let partitions):
                answer(id, partitions) { (partitions, deadline) throws(KafkaError) in
                    .records(
                        sinceMilliseconds: time,
                        try offsets(for: partitions.map { ($0, time) }, deadline))
                }
            }
        }
        return id
    }

    private func deliver(_ answer: KafkaAnswer, to id: QuestionID) {
        received.add(answer, to: id)
        wakeup.signal()
    }

    private func answerCommitted(_ partitions: [TopicPartition], to id: QuestionID) {
        do throws(KafkaError) {
            let limit = Deadline(milliseconds: Self.questionMilliseconds)
            deliver(.committed(try committed(partitions, limit)), to: id)
        } catch {
            deliver(.failed(partitions, error), to: id)
        }
    }

    /// Asks the leaders one after the other, so that one that is away delays only its own partitions.
    private func answer(
        _ id: QuestionID, _ partitions: [TopicPartition],
        by call: ([TopicPartition], Deadline) throws(KafkaError) -> KafkaAnswer
    ) {
        let groups: [Int32: [TopicPartition]]
        do throws(KafkaError) {
            groups = try byLeader(partitions, Deadline(milliseconds: Self.questionMilliseconds))
        } catch {
            return deliver(.failed(partitions, error), to: id)
        }
        for (leader, partitions) in groups {
            do throws(KafkaError) {
                guard leader >= 0 else { throw KafkaError("ask a leader", .leaderNotAvailable) }
                deliver(try call(partitions, Deadline(milliseconds: Self.questionMilliseconds)), to: id)
            } catch {
                deliver(.failed(partitions, error), to: id)
            }
        }
    }

    private func byLeader(
        _ partitions: [TopicPartition], _ deadline: Deadline
    ) throws(KafkaError) -> [Int32: [TopicPartition]] {
        var leaders: [TopicPartition: Int32] = [:]
        for name in Set(partitions.map(\.topic)) {
            let found = try describe(Topic(name, of: self), deadline)
            for (partition, leader) in found.leaders { leaders[TopicPartition(name, partition)] = leader }
        }
        return Dictionary(grouping: partitions) { leaders[$0] ?? -1 }
    }

    private func ends(
        of partitions: [TopicPartition], _ deadline: Deadline
    ) throws(KafkaError) -> [TopicPartition: Watermarks] {
        let lows = try offsets(
            for: partitions.map { ($0, milliseconds: Int64(RD_KAFKA_OFFSET_BEGINNING)) }, deadline)
        let highs = try offsets(
            for: partitions.map { ($0, milliseconds: Int64(RD_KAFKA_OFFSET_END)) }, deadline)
        var ends: [TopicPartition: Watermarks] = [:]
        for partition in partitions {
            guard let low = lows[partition] ?? nil, let high = highs[partition] ?? nil else {
                throw KafkaError("ask for the ends of \(partition)", .offsetNotAvailable)
            }
            ends[partition] = Watermarks(low: low, high: high)
        }
        return ends
    }
}
