internal import CRdKafka

/// Queries that do not block the caller.
extension KafkaClient {
    /// The time that the leaders or the coordinator have for their answers to one query.
    static let queryMillisecondsMax = 2000

    /// The receiver of the results of one query.
    private struct ResultReceiver {
        let id: OffsetQueryID
        let results: QueryResults
        let wakeup: WakeupDescriptor

        func deliver(_ result: OffsetQueryResult) {
            results.add(result, for: id)
            wakeup.signal()
        }
    }

    /// Runs the query on another thread. `queryResults` gets its results, and `wakeup` signals each of them.
    func submit(_ query: OffsetQuery) -> OffsetQueryID { submit(query, to: queryResults, wakeup: wakeup) }

    /// Runs the query on another thread. `results` gets its results, and `wakeup` signals each of them.
    func submit(_ query: OffsetQuery, to results: QueryResults, wakeup: WakeupDescriptor) -> OffsetQueryID {
        let receiver = ResultReceiver(id: results.nextID(), results: results, wakeup: wakeup)
        QueryThreads.shared.run { [self] in
            switch query {
            case .committedOffsets(let partitions): queryCommittedOffsets(in: partitions, for: receiver)
            case .watermarks(let partitions):
                queryEachLeader(of: partitions, for: receiver) {
                    [self] (partitions, deadline) throws(KafkaError) in
                    .watermarks(try watermarks(of: partitions, until: deadline))
                }
            case .firstRecords(let time, let partitions):
                queryEachLeader(of: partitions, for: receiver) {
                    [self] (partitions, deadline) throws(KafkaError) in
                    .firstRecords(
                        sinceMilliseconds: time,
                        try offsets(for: partitions.map { ($0, time) }, until: deadline))
                }
            }
        }
        return receiver.id
    }

    private func queryCommittedOffsets(in partitions: [TopicPartition], for receiver: ResultReceiver) {
        do throws(KafkaError) {
            let deadline = Deadline(milliseconds: Self.queryMillisecondsMax)
            receiver.deliver(.committedOffsets(try committedOffsets(of: partitions, until: deadline)))
        } catch {
            receiver.deliver(.failed(partitions, error))
        }
    }

    /// Asks all leaders at the same time, and delivers the result of each at once. The query has one deadline. So a
    /// missing leader delays no other, and no result comes later than the limit of one answer.
    private func queryEachLeader(
        of partitions: [TopicPartition], for receiver: ResultReceiver,
        call: @escaping @Sendable ([TopicPartition], Deadline) throws(KafkaError) -> OffsetQueryResult
    ) {
        let deadline = Deadline(milliseconds: Self.queryMillisecondsMax)
        let partitionsByLeader: [Int32: [TopicPartition]]
        do throws(KafkaError) {
            partitionsByLeader = try groupByLeader(partitions, until: deadline)
        } catch {
            return receiver.deliver(.failed(partitions, error))
        }
        @Sendable func query(_ partitions: [TopicPartition]) {
            do throws(KafkaError) {
                receiver.deliver(try call(partitions, deadline))
            } catch {
                receiver.deliver(.failed(partitions, error))
            }
        }
        var partitionsOfLeaders: [[TopicPartition]] = []
        for (leader, partitions) in partitionsByLeader {
            if leader >= 0 {
                partitionsOfLeaders.append(partitions)
            } else {
                let error = KafkaError(action: "find the leader of partitions", code: .leaderNotAvailable)
                receiver.deliver(.failed(partitions, error))
            }
        }
        // This thread asks the last leader itself.
        for partitions in partitionsOfLeaders.dropLast() { QueryThreads.shared.run { query(partitions) } }
        partitionsOfLeaders.last.map(query)
    }

    /// Returns the partitions of each leader. -1 stands for no leader.
    private func groupByLeader(
        _ partitions: [TopicPartition], until deadline: Deadline
    ) throws(KafkaError) -> [Int32: [TopicPartition]] {
        var leaders: [TopicPartition: Int32] = [:]
        for name in Set(partitions.map(\.topic)) {
            let description = try describe(Topic(name: name, client: self), until: deadline)
            for (partition, leader) in description.leaders {
                leaders[TopicPartition(name, partition)] = leader
            }
        }
        return Dictionary(grouping: partitions) { leaders[$0] ?? -1 }
    }
}
