internal import CRdKafka

/// Functions of librdkafka that only tests call.
package enum KafkaLibraryTestFunctions {
    /// Puts the client into the state of a fatal error.
    @unsafe package static func raiseFatalError(code: Int32, in client: OpaquePointer) {
        unsafe rd_kafka_test_fatal_error(client, rd_kafka_resp_err_t(rawValue: code), "raised by a test")
    }

    /// Returns the value of a property with which a client was made.
    @unsafe package static func property(named name: String, of client: OpaquePointer) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        var byteCount = buffer.count
        _ = unsafe rd_kafka_conf_get(rd_kafka_conf(client), name, &buffer, &byteCount)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the partition that the library's own partitioner chooses, for a comparison with ours.
    package static func murmur2Partition(forKey key: [UInt8], partitionCount: Int32) -> Int32 {
        unsafe key.withUnsafeBytes { bytes in
            // A null pointer would mean a record without a key, not an empty key.
            let keyPointer = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            return unsafe rd_kafka_msg_partitioner_murmur2(
                nil, keyPointer, bytes.count, partitionCount, nil, nil)
        }
    }
}
