internal import CRdKafka
internal import Glibc

/// The library's list of partitions, each with an offset, metadata and an error. One scope owns it.
@safe
struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    /// Takes over a list of the library, and frees it at its end.
    init(adopting pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) {
        unsafe self.pointer = pointer
    }

    init(_ partitions: some Collection<TopicPartition>) {
        unsafe pointer = rd_kafka_topic_partition_list_new(Int32(partitions.count))
        for partition in partitions {
            _ = unsafe rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)
        }
    }

    /// Makes a list with an offset for each partition.
    init(_ offsets: some Collection<(key: TopicPartition, value: Int64)>) {
        self.init(offsets.map(\.key))
        for (index, offset) in offsets.enumerated() {
            unsafe pointer.pointee.elems[index].offset = offset.value
        }
    }

    init(committing offsets: [OffsetToCommit]) {
        self.init(offsets.map(\.partition))
        for (index, offset) in offsets.enumerated() {
            unsafe pointer.pointee.elems[index].offset = offset.offset
            guard !offset.metadata.isEmpty else { continue }
            // The list frees this copy.
            unsafe pointer.pointee.elems[index].metadata = UnsafeMutableRawPointer(strdup(offset.metadata))
            unsafe pointer.pointee.elems[index].metadata_size = offset.metadata.utf8.count
        }
    }

    deinit { unsafe rd_kafka_topic_partition_list_destroy(pointer) }

    var count: Int { unsafe Int(pointer.pointee.cnt) }

    func partition(at index: Int) -> TopicPartition {
        unsafe TopicPartition(
            String(cString: pointer.pointee.elems[index].topic), pointer.pointee.elems[index].partition)
    }

    func offset(at index: Int) -> Int64 { unsafe pointer.pointee.elems[index].offset }

    func metadata(at index: Int) -> String {
        let element = unsafe pointer.pointee.elems[index]
        guard let bytes = unsafe element.metadata else { return "" }
        return unsafe String(
            decoding: UnsafeRawBufferPointer(start: bytes, count: element.metadata_size), as: UTF8.self)
    }

    /// The entries as the offsets that a group has committed. A negative offset means that it has committed
    /// none.
    var committedOffsets: [CommittedOffset] {
        (0..<count).map { index in
            let committed = offset(at: index)
            return CommittedOffset(
                partition: partition(at: index), offset: committed >= 0 ? committed : nil,
                metadata: metadata(at: index))
        }
    }

    /// The first partition that has an error, if any.
    var firstError: (partition: TopicPartition, code: KafkaErrorCode)? { unsafe Self.firstError(in: pointer) }

    static func firstError(
        in list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) -> (partition: TopicPartition, code: KafkaErrorCode)? {
        for index in 0..<Int(unsafe list.pointee.cnt) {
            let element = unsafe list.pointee.elems[index]
            let code = unsafe KafkaErrorCode(element.err)
            if code != .none {
                return unsafe (TopicPartition(String(cString: element.topic), element.partition), code)
            }
        }
        return nil
    }
}
