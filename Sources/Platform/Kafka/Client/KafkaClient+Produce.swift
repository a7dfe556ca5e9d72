internal import CRdKafka

extension KafkaClient {
    /// Queues one record. Without a partition, the library's partitioner chooses it by the key.
    ///
    /// - Parameters:
    ///   - flags: `RD_KAFKA_MSG_F_COPY`, or 0 if the value stays in memory until the record is delivered.
    ///   - headers: headers that the library takes if the record was queued.
    ///   - tag: a number that comes back with the delivery.
    func produce(
        to topic: Topic, partition: Int32?, key: Span<UInt8>?, value: Span<UInt8>?, flags: Int32,
        headers: OpaquePointer?, tag: UInt64, timestamp: Int64
    ) -> SendResult {
        unsafe withPointer(to: key) { key, keyCount in
            unsafe withPointer(to: value) { value, valueCount in
                unsafe SendResult(
                    code: KafkaErrorCode(
                        rdkafka_produce(
                            pointer, topic.pointer, partition ?? RD_KAFKA_PARTITION_UA, flags, value,
                            valueCount, key, keyCount, headers,
                            UnsafeMutableRawPointer(bitPattern: UInt(tag)), timestamp)))
            }
        }
    }

    /// Queues one record with headers, which the library takes if the record was queued.
    func produce(
        to topic: Topic, partition: Int32?, key: Span<UInt8>?, value: Span<UInt8>?, flags: Int32,
        headers: inout RecordHeaders, tag: UInt64, timestamp: Int64
    ) -> SendResult {
        var result = SendResult.queued
        unsafe headers.transferOwnership { pointer in
            result = unsafe produce(
                to: topic, partition: partition, key: key, value: value, flags: flags, headers: pointer,
                tag: tag, timestamp: timestamp)
            return result == .queued
        }
        return result
    }
}
