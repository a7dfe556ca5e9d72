internal import CRdKafka

/// Functions of librdkafka that only tests call.
package enum KafkaLibraryTestFunctions {
    /// Puts the client into the state of a fatal error.
    @unsafe package static func raiseFatalError(code: Int32, in client: OpaquePointer) {
        unsafe rd_kafka_test_fatal_error(client, rd_kafka_resp_err_t(rawValue: code), "raised by a test")
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
