internal import CRdKafka

/// The test functions of the client library.
package enum KafkaLibraryTestFunctions {
    /// Puts the client into the state of a fatal error.
    @unsafe package static func raiseFatalError(code: Int32, in client: OpaquePointer) {
        unsafe rd_kafka_test_fatal_error(client, rd_kafka_resp_err_t(rawValue: code), "raised by a test")
    }

    /// Returns the result of the library's own partitioner, for comparison.
    package static func murmur2Partition(forKey key: [UInt8], partitionCount count: Int32) -> Int32 {
        unsafe key.withUnsafeBytes { bytes in
            unsafe rd_kafka_msg_partitioner_murmur2(
                nil, bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1), bytes.count, count, nil, nil)
        }
    }
}
