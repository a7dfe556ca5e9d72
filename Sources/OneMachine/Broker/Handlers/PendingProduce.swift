/// The incomplete answer to one Produce request. It leaves when every partition's append is durable or
/// refused.
final class PendingProduce {
    /// The place of a partition in the request and in the answer.
    struct PartitionIndex {
        var topic: Int
        var partition: Int
    }

    private let exchange: RequestExchange
    private let acks: Int16
    private var response: ProduceResponse
    /// Number of appends that are not durable yet, plus one until all have begun.
    private var openCount = 1
    private var hasFailed = false

    init(exchange: RequestExchange, request: ProduceRequest) {
        self.exchange = exchange
        acks = request.acks
        response = ProduceResponse(
            topics: request.topics.map { topic in
                TopicPartitions(
                    topic: topic.topic, partitions: topic.partitions.map { .init(index: $0.index) })
            })
    }

    /// Stores the result of an append. With acks=all, waits until its records are durable.
    func recordAppend(_ appended: AppendResult, to log: PartitionLog, at index: PartitionIndex) {
        update(index) {
            $0.baseOffset = appended.baseOffset
            $0.logAppendTime = appended.logAppendTime
            $0.logStartOffset = log.logStartOffset
        }
        // A duplicate waits too, because its first copy may not be durable yet.
        guard acks == -1 else { return }
        openCount += 1
        log.whenDurable(upTo: appended.nextOffset) { [self] error in
            if let error {
                recordRefusal(Refusal(code: error.code, message: error.description), at: index)
            }
            settleOne()
        }
    }

    /// Stores the reason why a partition's records are not in its log.
    func recordRefusal(_ refusal: Refusal, at index: PartitionIndex) {
        hasFailed = true
        update(index) {
            $0.error = refusal.code
            $0.message = refusal.message
            $0.baseOffset = -1
            $0.logAppendTime = -1
        }
    }

    /// Called when every append has begun.
    func finishStarting() { settleOne() }

    private func update(_ index: PartitionIndex, change: (inout ProduceResponse.Partition) -> Void) {
        change(&response.topics[index.topic].partitions[index.partition])
    }

    /// Answers the request after the last append is settled.
    private func settleOne() {
        openCount -= 1
        guard openCount == 0 else { return }
        guard acks != 0 else {
            exchange.answerNothing()
            // A producer without answers can only notice a closed connection.
            if hasFailed { exchange.disconnect() }
            return
        }
        exchange.answer { response.write(to: &$0, version: exchange.version) }
    }
}
