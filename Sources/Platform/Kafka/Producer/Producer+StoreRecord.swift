extension Producer {
    /// Sends one record and waits until all in-sync replicas have it. This is for commands that people run.
    /// The producer must have no other users, because this takes the next delivery.
    ///
    /// - Parameter action: completes "cannot …" in an error, such as "write the catalog".
    /// - Returns: The record's position, and the time at which the cluster stored it if the topic has such
    ///   times.
    package func storeRecord(
        action: String, in topic: Topic, key: [UInt8], value: [UInt8]?
    ) throws(KafkaError) -> (partition: Int32, offset: Int64, stamp: Int64?) {
        let result = send(to: topic, key: key.span, value: value?.span, tag: 0)
        switch result {
        case .queued: break
        case .full: throw KafkaError(action: action, code: .queueFull)
        case .refused(let code), .unusable(let code): throw KafkaError(action: action, code: code)
        }
        var deliveries: [Delivery] = []
        while deliveries.isEmpty { _ = collectDeliveries(into: &deliveries, waitMilliseconds: 100) }
        let delivery = deliveries[0]
        switch delivery.outcome {
        case .stored(let offset): return (delivery.partition, offset, delivery.brokerTimestamp)
        case .notStored(let code): throw KafkaError(action: action, code: code)
        case .unknown(let code):
            throw KafkaError(
                action: action, code: code,
                text: "\(code.text); it may have succeeded: check before you repeat it"
            )
        }
    }
}
