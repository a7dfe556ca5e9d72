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
    }

    /// Stops the delivery of records from these partitions. Ignores partitions that are not read.
    package func pause(_ partitions: [TopicPartition]) {
        for partition in partitions where positions.isReading(partition.partition) {
            let position = position(in: partition)
            client.stop(partition.partition, for: ObjectIdentifier(self))
            positions.pause(partition.partition, at: position)
        }
        for partition in partitions { positions.pauseLookup(of: partition.partition) }
    }

    /// Continues paused partitions. Ignores all others.
    package func resume(_ partitions: [TopicPartition]) {
        restart(
            partitions.compactMap { partition in
                positions.resume(partition.partition).map {
                    PartitionStart(partition: partition, position: $0)
                }
            })
    }

    /// Starts partitions, or starts them again at other positions.
    func restart(_ starts: [PartitionStart]) {
        for start in starts {
            precondition(start.partition.topic == topic, "a reader of \(topic) got \(start.partition)")
            let partition = start.partition.partition
            client.stop(partition, for: ObjectIdentifier(self))
            switch start.position {
            case .offset(let offset): startReading(partition, at: offset)
            case .beginning, .end: positions.recordLookup(of: partition, position: start.position)
            }
        }
        submitLookup()
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

    // MARK: Look-ups of beginnings and ends

    /// Asks for the bounds of all partitions that wait for them. Only the answer to the newest query counts.
    private func submitLookup() {
        let partitions = positions.partitionsWithoutOffset.map { TopicPartition(topic, $0) }
        if !partitions.isEmpty { positions.lookup = submit(.watermarks(partitions)) }
    }

    /// Asks again some time after a query has failed.
    func repeatFailedLookup() {
        if positions.takeDueLookup(at: .now()) { submitLookup() }
    }

    /// Starts the partitions whose bounds are known now, and returns the results of the owner's queries. A late
    /// answer to an earlier look-up is among these, and no owner knows its number.
    func takeQueryResults() -> [ConsumerEvent] {
        var events: [ConsumerEvent] = []
        for (id, result) in queryResults.takeAll() {
            switch result {
            case .watermarks(let watermarks) where id == positions.lookup:
                for (partition, bounds) in watermarks {
                    guard let offset = positions.startOffset(of: partition.partition, between: bounds) else {
                        continue
                    }
                    startReading(partition.partition, at: offset)
                }
            case .failed(let partitions, let error) where id == positions.lookup:
                positions.recordFailedLookup(at: .now())
                events += partitions.map { .failed(.partition($0, error)) }
            default: events.append(.queryCompleted(id, result))
            }
        }
        return events
    }

    /// Wakes the threads of the brokers that lead the partitions (`FetchWakeupCounter`).
    func wakeFetching() {
        let partitions = positions.readPartitions.map { TopicPartition(topic, $0) }
        if !partitions.isEmpty { client.client.wakeBrokers(leading: PartitionList(partitions)) }
    }
}
