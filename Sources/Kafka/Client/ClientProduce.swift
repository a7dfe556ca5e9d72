internal import CRdKafka

extension Client {
    func produce(
        _ topic: Topic, _ partition: Int32?, _ key: Span<UInt8>?, _ value: Span<UInt8>?, flags: Int32,
        headers: OpaquePointer?, tag: UInt64, timestamp: Int64
    ) -> SendResult {
        unsafe withPointer(to: key) { key, keyCount in
            unsafe withPointer(to: value) { value, valueCount in
                unsafe SendResult(
                    ErrorCode(
                        rdkafka_produce(
                            pointer, topic.pointer, partition ?? RD_KAFKA_PARTITION_UA, flags, value,
                            valueCount,
                            key, keyCount, headers, UnsafeMutableRawPointer(bitPattern: UInt(tag)), timestamp)
                    ))
            }
        }
    }

    func produce(
        _ topic: Topic, _ partition: Int32?, _ key: Span<UInt8>?, _ value: Span<UInt8>?, flags: Int32,
        headers: inout RecordHeaders, tag: UInt64, timestamp: Int64
    ) -> SendResult {
        var result = SendResult.queued
        unsafe headers.offer { pointer in
            result = unsafe produce(
                topic, partition, key, value, flags: flags, headers: pointer, tag: tag, timestamp: timestamp)
            return result == .queued
        }
        return result
    }
}
