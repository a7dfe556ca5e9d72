internal import CRdKafka
internal import Lifecycle

/// The answers that came for one client and that its loop has not taken.
final class QueryResults: Sendable {
    private struct CollectedResults {
        var queryCount: UInt64 = 0
        var results: [(OffsetQueryID, OffsetQueryResult)] = []
    }

    private let state = TracedLock(CollectedResults())

    func nextID() -> OffsetQueryID {
        state.withLock { state in
            state.queryCount += 1
            return OffsetQueryID(number: state.queryCount)
        }
    }

    func add(_ answer: OffsetQueryResult, for id: OffsetQueryID) {
        state.withLock { $0.results.append((id, answer)) }
    }

    func takeAll() -> [(OffsetQueryID, OffsetQueryResult)] {
        state.withLock { state in
            defer { state.results = [] }
            return state.results
        }
    }
}

extension KafkaClient {
    /// The time that one leader or coordinator has for its answer.
    static let queryMilliseconds = 2000

    /// Asks on another thread. The answer lies in `received`, and `wakeup` signals it.
    func submit(_ question: OffsetQuery) -> OffsetQueryID {
        let id = queryResults.nextID()
        QueryThreads.shared.run { [self] in
            switch question {
            case .committedOffsets(let partitions): queryCommittedOffsets(in: partitions, id: id)
            case .watermarks(let partitions):
                queryEachLeader(id: id, partitions: partitions) { (partitions, deadline) throws(KafkaError) in
                    .watermarks(try watermarksByPartition(of: partitions, until: deadline))
                }
            case .firstRecords(let time, let partitions):
                queryEachLeader(id: id, partitions: partitions) { (partitions, deadline) throws(KafkaError) in
                    .firstRecords(
                        sinceMilliseconds: time,
                        try offsets(for: partitions.map { ($0, time) }, until: deadline))
                }
            }
        }
        return id
    }

    private func deliver(_ answer: OffsetQueryResult, for id: OffsetQueryID) {
        queryResults.add(answer, for: id)
        wakeup.signal()
    }

    private func queryCommittedOffsets(in partitions: [TopicPartition], id: OffsetQueryID) {
        do throws(KafkaError) {
            let limit = Deadline(milliseconds: Self.queryMilliseconds)
            deliver(.committedOffsets(try committedOffsets(of: partitions, until: limit)), for: id)
        } catch {
            deliver(.failed(partitions, error), for: id)
        }
    }

    /// Asks the leaders one after the other, so that one that is away delays only its own partitions.
    private func queryEachLeader(
        id: OffsetQueryID, partitions: [TopicPartition],
        call: ([TopicPartition], Deadline) throws(KafkaError) -> OffsetQueryResult
    ) {
        let groups: [Int32: [TopicPartition]]
        do throws(KafkaError) {
            groups = try groupByLeader(partitions, until: Deadline(milliseconds: Self.queryMilliseconds))
        } catch {
            return deliver(.failed(partitions, error), for: id)
        }
        for (leader, partitions) in groups {
            do throws(KafkaError) {
                guard leader >= 0 else { throw KafkaError(action: "ask a leader", code: .leaderNotAvailable) }
                deliver(try call(partitions, Deadline(milliseconds: Self.queryMilliseconds)), for: id)
            } catch {
                deliver(.failed(partitions, error), for: id)
            }
        }
    }

    private func groupByLeader(
        _ partitions: [TopicPartition], until deadline: Deadline
    ) throws(KafkaError) -> [Int32: [TopicPartition]] {
        var leaders: [TopicPartition: Int32] = [:]
        for name in Set(partitions.map(\.topic)) {
            let found = try describe(Topic(name: name, client: self), until: deadline)
            for (partition, leader) in found.leaders { leaders[TopicPartition(name, partition)] = leader }
        }
        return Dictionary(grouping: partitions) { leaders[$0] ?? -1 }
    }

    private func watermarksByPartition(
        of partitions: [TopicPartition], until deadline: Deadline
    ) throws(KafkaError) -> [TopicPartition: Watermarks] {
        let lows = try offsets(
            for: partitions.map { ($0, milliseconds: Int64(RD_KAFKA_OFFSET_BEGINNING)) }, until: deadline)
        let highs = try offsets(
            for: partitions.map { ($0, milliseconds: Int64(RD_KAFKA_OFFSET_END)) }, until: deadline)
        var ends: [TopicPartition: Watermarks] = [:]
        for partition in partitions {
            guard let low = lows[partition] ?? nil, let high = highs[partition] ?? nil else {
                throw KafkaError(action: "ask for the ends of \(partition)", code: .offsetNotAvailable)
            }
            ends[partition] = Watermarks(low: low, high: high)
        }
        return ends
    }
}
