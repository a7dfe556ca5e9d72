internal import CRdKafka
internal import Lifecycle

extension PartitionReader {
    /// Reads these partitions and no others.
    package func assign(startingAt starts: [PartitionStart]) {
        release()
        restart(starts)
    }

    /// Stops all partitions.
    package func release() {
        for partition in positions.readPartitions { client.stop(partition, for: ObjectIdentifier(self)) }
        positions.removeAll()
        lookups.removeAll()
    }

    /// Stops the delivery of records from these partitions. Ignores partitions that are not read. A partition whose
    /// offset is not known yet is looked up again when it continues.
    package func pause(_ partitions: [TopicPartition]) {
        for partition in partitions {
            if positions.isReading(partition.partition) {
                let offset = position(in: partition)
                client.stop(partition.partition, for: ObjectIdentifier(self))
                positions.recordPause(of: partition.partition, at: .offset(offset))
            } else if let position = lookups.remove(partition) {
                positions.recordPause(of: partition.partition, at: position)
            }
        }
    }

    /// Continues paused partitions. Ignores all others.
    package func resume(_ partitions: [TopicPartition]) {
        restart(
            partitions.compactMap { partition in
                positions.pausedPosition(of: partition.partition).map {
                    PartitionStart(partition: partition, position: $0)
                }
            })
    }

    /// Starts partitions, or starts them again at other positions.
    func restart(_ starts: [PartitionStart]) {
        for start in starts {
            precondition(start.partition.topic == topic, "a reader of \(topic) got \(start.partition)")
            client.stop(start.partition.partition, for: ObjectIdentifier(self))
            positions.remove(start.partition.partition)
            switch start.position {
            case .offset(let offset):
                _ = lookups.remove(start.partition)
                startReading(start.partition.partition, at: offset)
            case .beginning, .end: lookups.add(start)
            }
        }
        lookups.submitDueQuery(at: .now(), with: submit)
    }

    private func startReading(_ partition: Int32, at offset: Int64) {
        positions.recordStart(of: partition, at: offset)
        unsafe client.start(partition, at: offset, for: ObjectIdentifier(self), into: queue)
    }

    /// The offset after the last record that `poll` delivered, or the start.
    private func position(in partition: TopicPartition) -> Int64 {
        let list = PartitionList([partition])
        let code = unsafe KafkaErrorCode(rd_kafka_position(client.client.pointer, list.pointer))
        let start = positions.startOffset(of: partition.partition)
        return code == .none && list.offset(at: 0) >= 0 ? max(start, list.offset(at: 0)) : start
    }

    /// Starts the partitions whose offsets are known now, and returns the results of the owner's queries. A late
    /// answer to an earlier look-up is among these, and no owner knows its number.
    func takeQueryResults() -> [ConsumerEvent] {
        var events: [ConsumerEvent] = []
        for (id, result) in queryResults.takeAll() {
            guard let starts = lookups.take(result, of: id, at: .now()) else {
                events.append(.queryCompleted(id, result))
                continue
            }
            if case .failed(let partitions, let error) = result {
                events += partitions.map { .failed(.partition($0, error)) }
            }
            restart(starts)
        }
        return events
    }

    /// Wakes the threads of the brokers that lead the partitions (`FetchWakeupCounter`).
    func wakeFetching() {
        let partitions = positions.readPartitions.map { TopicPartition(topic, $0) }
        if !partitions.isEmpty { client.client.wakeBrokers(leading: PartitionList(partitions)) }
    }
}
