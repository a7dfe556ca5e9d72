package import Kafka

extension TransactionalProducer {
    /// Queues one record of the transaction, and waits while the queue is full. Returns false if the record is refused,
    /// or if the queue stays full.
    package func queue(
        to topic: Topic, partition: Int32, key: Span<UInt8>?, value: Span<UInt8>?
    ) -> Bool {
        while true {
            let result = send(to: topic, partition: partition, key: key, value: value)
            if result == .queued { return true }
            guard result == .full, waitForQueueSpace() else { return false }
        }
    }
}
