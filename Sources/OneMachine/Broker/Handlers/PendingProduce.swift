/// The incomplete answer to one Produce request. It leaves when every partition's append is durable or
/// refused.
final class PendingProduce {
    struct Index {
        var topic: Int
        var partition: Int
    }

    private let exchange: Exchange
    private let acks: Int16
    private var response: ProduceResponse
    /// Number of appends that are not durable yet, plus one until all have begun.
    private var open = 1
    private var hasFailed = false

    init(_ exchange: Exchange, _ request: ProduceRequest) {
        self.exchange = exchange
        acks = request.acks
        response = ProduceResponse(
            topics: request.topics.map { topic in
                TopicPartitions(
                    topic: topic.topic, partitions: topic.partitions.map { .init(index: $0.index) })
            })
    }

    func appended(_ appended: Appended, to log: PartitionLog, at index: Index) {
        update(index) {
            $0.baseOffset = appended.baseOffset
            $0.logAppendTime = appended.logAppendTime
            $0.logStartOffset = log.logStartOffset
        }
        guard acks == -1 else { return }
        open += 1
        log.whenDurable(appended.nextOffset) { [self] error in
            if let error { refused(error, at: index) }
            close()
        }
    }

    func refused(_ error: LogError, at index: Index) {
        refused(error.code, error.description, at: index)
    }

    func refused(_ code: ErrorCode, _ message: String, at index: Index) {
        hasFailed = true
        update(index) {
            $0.error = code
            $0.message = message
            $0.baseOffset = -1
            $0.logAppendTime = -1
        }
    }

    /// Notes that every append has begun.
    func begun() {
        close()
    }

    private func update(_ index: Index, _ change: (inout ProduceResponse.Partition) -> Void) {
        change(&response.topics[index.topic].partitions[index.partition])
    }

    private func close() {
        open -= 1
        guard open == 0 else { return }
        guard acks != 0 else {
            exchange.answerNothing()
            // A producer without answers can only notice a closed connection.
            if hasFailed { exchange.disconnect() }
            return
        }
        exchange.answer { response.write(to: &$0, version: exchange.version) }
    }
}
