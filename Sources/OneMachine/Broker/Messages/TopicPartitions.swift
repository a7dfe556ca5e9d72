/// One topic of a request or an answer, with a value for each partition. Most of Kafka's messages have a
/// list of these.
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
    /// Reads a list of topics. `partition` reads the fields of one partition, without the tags at its end.
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
    /// Writes a list of topics. `partition` writes the fields of one partition, without the tags at its end.
    package mutating func topics<Partition>(
        _ topics: [TopicPartitions<Partition>], _ partition: (inout WireWriter, Partition) -> Void
    ) {
        array(topics) { writer, topic in
            writer.string(topic.topic)
            writer.array(topic.partitions) { writer, value in
                partition(&writer, value)
                writer.emptyTags()
            }
            writer.emptyTags()
        }
    }
}
