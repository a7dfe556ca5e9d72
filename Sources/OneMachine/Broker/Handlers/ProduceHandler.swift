internal import Lifecycle
internal import Telemetry

/// The handler of Produce. It appends batches and answers when they are as safe as the producer asked
/// for.
///
/// The bytes go from the receive buffer to the log in one copy, and the log decodes only their headers.
/// An answer to acks=all never leaves before the records are durable.
struct ProduceHandler {
    unowned let node: BrokerNode

    func handle(_ request: ProduceRequest, in bytes: UnsafeRawBufferPointer, on exchange: RequestExchange) {
        let start = Instant.now()
        let now = WallTime.now()
        let pending = PendingProduce(exchange: exchange, request: request)
        for (topicIndex, topic) in request.topics.enumerated() {
            for (partitionIndex, partition) in topic.partitions.enumerated() {
                let index = PendingProduce.PartitionIndex(topic: topicIndex, partition: partitionIndex)
                do throws(Refusal) {
                    try check(request)
                    let log = try findLog(topic: topic.topic, partition: partition.index)
                    let appended = try unsafe append(
                        partition, of: request, from: bytes, to: log, at: now)
                    pending.recordAppend(appended, to: log, at: index)
                } catch {
                    pending.recordRefusal(error, at: index)
                }
            }
        }
        pending.finishStarting()
        node.metrics.appendSeconds.observe(Instant.now().seconds(since: start))
    }

    private func check(_ request: ProduceRequest) throws(Refusal) {
        guard (-1...1).contains(request.acks) else {
            throw Refusal(
                code: .invalidRequiredAcks, message: "acks is \(request.acks); give 0, 1 or -1 (all)")
        }
    }

    private func findLog(topic name: String, partition: Int32) throws(Refusal) -> PartitionLog {
        guard let topic = node.topics.topic(named: name), let log = topic.partition(at: partition) else {
            throw Refusal(
                code: .unknownTopicOrPartition,
                message: "topic \(name) has no partition \(partition); create the topic first")
        }
        let injectedError =
            node.refusal(byLeaderOf: name, partition: partition)
            ?? node.refusal(ofAppendTo: name, partition: partition)
        if let code = injectedError {
            throw Refusal(code: code, message: "topic \(name), partition \(partition): not now")
        }
        guard !topic.isInternal else {
            throw Refusal(code: .invalidTopic, message: "topic \(name) is written by the broker only")
        }
        return log
    }

    private func append(
        _ partition: ProduceRequest.Partition, of request: ProduceRequest,
        from bytes: UnsafeRawBufferPointer, to log: PartitionLog, at now: WallTime
    ) throws(Refusal) -> AppendResult {
        guard let range = partition.records, range.count >= BatchHeader.size else {
            throw Refusal(code: .corruptMessage, message: "the request has no record batch; check the client")
        }
        let batch = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
        let header = unsafe BatchHeader(parsing: batch)
        if header.isTransactional {
            try checkTransaction(of: header, from: request, in: log)
        }
        do throws(LogError) {
            return try unsafe log.append(batch, now: now)
        } catch {
            throw Refusal(code: error.code, message: error.description)
        }
    }

    /// Refuses a batch outside of a transaction that the coordinator knows. Without a transaction it
    /// would get no marker, and committed readers would wait for ever.
    private func checkTransaction(
        of header: BatchHeader, from request: ProduceRequest, in log: PartitionLog
    ) throws(Refusal) {
        let partition = PartitionID(topic: log.topic, partition: log.partition)
        let refusal = node.coordinators.refusal(
            transactionalID: request.transactionalID, producer: header.producerID,
            epoch: header.producerEpoch, partition: partition)
        guard let error = refusal else { return }
        throw Refusal(
            code: error,
            message: "producer \(header.producerID) has no transaction here; begin it with AddPartitionsToTxn"
        )
    }
}
