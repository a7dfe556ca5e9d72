extension Producer {
    /// Sends one record and waits until all in-sync replicas have it. For commands that people run, on a
    /// producer without other users. Returns the record's position, and the cluster's stamp if there is one.
    package func storeRecord(
        action: String, in topic: Topic, key: [UInt8], value: [UInt8]?
    ) throws(KafkaError) -> (partition: Int32, offset: Int64, stamp: Int64?) {
        let result = send(to: topic, key: key.span, value: value?.span, tag: 0)
        switch result {
        case .queued: break
        case .full: throw KafkaError(action: action, code: .queueFull)
        case .refused(let code), .rebuild(let code): throw KafkaError(action: action, code: code)
        }
        var deliveries: [Delivery] = []
        while deliveries.isEmpty { _ = collectDeliveries(into: &deliveries, waitMilliseconds: 100) }
        switch deliveries[0].outcome {
        case .stored(let offset): return (deliveries[0].partition, offset, deliveries[0].brokerTimestamp)
        case .notStored(let code): throw KafkaError(action: action, code: code)
        case .unknown(let code):
            throw KafkaError(
                action: action, code: code,
                text: "\(code.text); it may have succeeded: check before you repeat it"
            )
        }
    }
}
