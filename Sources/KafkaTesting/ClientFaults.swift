internal import CRdKafka

/// What the client library itself offers to tests.
package enum ClientFaults {
    /// The client is at its end from now on, as after an error that cannot be repaired.
    @unsafe package static func raiseFatalError(_ code: Int32, in client: OpaquePointer) {
        unsafe rd_kafka_test_fatal_error(client, rd_kafka_resp_err_t(rawValue: code), "raised by a test")
    }

    /// The library's own partitioner, to compare ours with.
    package static func murmur2Partition(of key: [UInt8], of count: Int32) -> Int32 {
        unsafe key.withUnsafeBytes { bytes in
            unsafe rd_kafka_msg_partitioner_murmur2(
                nil, bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1), bytes.count, count, nil, nil)
        }
    }
}
