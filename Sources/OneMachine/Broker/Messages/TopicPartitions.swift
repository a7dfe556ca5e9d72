/// The shape that most requests and responses share: for each topic, something for each partition.
package struct TopicPartitions<Partition> {
    package var topic: String
    package var partitions: [Partition]

    package init(topic: String, partitions: [Partition]) {
        self.topic = topic
        self.partitions = partitions
    }
}

extension TopicPartitions: Sendable where Partition: Sendable {}
extension TopicPartitions: Equatable where Partition: Equatable {}

extension WireReader {
    /// `partition` reads the fields of one partition; the tags that close it are skipped here.
    package mutating func topics<Partition>(
        _ partition: (inout WireReader) throws(WireError) -> Partition
    ) throws(WireError) -> [TopicPartitions<Partition>] {
        try array { (reader) throws(WireError) in
            let topic = try reader.string()
            let partitions = try reader.array { (reader) throws(WireError) in
                let value = try partition(&reader)
                try reader.skipTags()
                return value
            }
            try reader.skipTags()
            return TopicPartitions(topic: topic, partitions: partitions)
        }
    }
}

extension WireWriter {
    /// `partition` writes the fields of one partition; the tags that close it are written here.
    package mutating func topics<Partition>(
        _ topics: [TopicPartitions<Partition>], _ partition: (inout WireWriter, Partition) -> Void
    ) {
        array(topics) { writer, topic in
            writer.string(topic.topic)
            writer.array(topic.partitions) { writer, each in
                partition(&writer, each)
                writer.emptyTags()
            }
            writer.emptyTags()
        }
    }
}
