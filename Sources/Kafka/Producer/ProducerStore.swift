extension Producer {
    /// Sends one record and waits until all in-sync replicas have it: for what people do by hand, on a
    /// producer that nobody else uses. Returns where it lies, and the cluster's stamp where it tells one.
    package func store(
        _ action: String, in topic: Topic, key: [UInt8], value: [UInt8]?
    ) throws(KafkaError) -> (partition: Int32, offset: Int64, stamp: Int64?) {
        let result = send(to: topic, key: key.span, value: value?.span, tag: 0)
        switch result {
        case .queued: break
        case .full: throw KafkaError(action, .queueFull)
        case .refused(let code), .rebuild(let code): throw KafkaError(action, code)
        }
        var deliveries: [Delivery] = []
        while deliveries.isEmpty { _ = collect(into: &deliveries, waitMilliseconds: 100) }
        switch deliveries[0].outcome {
        case .stored(let offset): return (deliveries[0].partition, offset, deliveries[0].stamp)
        case .notStored(let code): throw KafkaError(action, code)
        case .unknown(let code):
            throw KafkaError(
                action, code, text: "\(code.text); perhaps it is done all the same: look before you repeat it"
            )
        }
    }
}
